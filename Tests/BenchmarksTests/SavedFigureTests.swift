import Foundation
import Settings
import TestSupport
import Testing

@testable import Benchmarks

@Suite struct SavedFigureTests {
    private static func goals(_ value: Double) -> [Goal] {
        [
            Goal(name: "records/s", key: "rate", value: value, bound: 100, isCeiling: false),
            Goal(name: "cost", key: "cost", value: 1.5, bound: 2, isCeiling: true),
        ]
    }

    @Test func `saved figures come back as a table, from the least to the most of all runs`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try FiguresCommand.lines(folder.path) == [])
        let file = folder.appending(path: "dedupe.json").path
        for value in [120.4, 99.0, 130] {
            try SavedFigure.append(Self.goals(value), to: file)
        }
        let lines = try FiguresCommand.lines(folder.path)
        #expect(lines.contains("| records/s | 99 to 130 | ≥ 100 | 3 |"), "\(lines)")
        #expect(lines.contains("| cost | 1.50 | ≤ 2.00 | 3 |"), "\(lines)")
    }

    @Test func `a file that was not written by a benchmark is refused`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"figure":"rate"}"#.utf8).write(to: file)
        #expect(throws: BenchError.self) { try SavedFigure.read(file.path) }
    }

    @Test func `deploy/measured.md shows the saved figures`() throws {
        let folder = ReferenceScript.root.appending(path: "deploy/measured").path
        let page = try String(contentsOfFile: "\(folder).md", encoding: .utf8)
        let table = try FiguresCommand.lines(folder).joined(separator: "\n")
        #expect(page.contains(table), "bench figures deploy/measured prints another table")
    }
}
