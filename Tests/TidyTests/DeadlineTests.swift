import Foundation
import Testing

/// A test's deadline is for the hopeless case: it holds on a machine that does much else.
struct DeadlineTests {
    private static let tests = (try? SourceTree.swiftFiles(below: ["Tests"])) ?? []

    /// The suites of `deploy/test.sh --quick`, whose tests all run beside each other.
    private static let quick = Result {
        let script = try String(contentsOf: SourceTree.root.appending(path: "deploy/test.sh"), encoding: .utf8)
        let names = script.firstMatch(of: /quick='\^\(([\w|]+)\)Tests/)?.1 ?? ""
        return names.split(separator: "|").map { "Tests/\($0)Tests/" }
    }

    /// The places where a pattern captures a number below a least one.
    private static func short(
        _ pattern: Regex<(Substring, Substring)>, below least: Int, in files: [SourceTree.File] = tests
    ) -> [String] {
        files.flatMap { file in
            file.lines.enumerated().filter { _, line in
                line.matches(of: pattern).contains { Int($0.1).map { $0 < least } ?? false }
            }.map { "\(file.path):\($0.offset + 1): \($0.element)" }
        }
    }

    @Test func `a condition and the end of a process are awaited without a short deadline`() {
        #expect(Self.tests.count > 300)
        #expect(Self.short(/eventually\(within: \.seconds\((\d+)\)/, below: 90) == [])
        #expect(Self.short(/eventually\(within: \.milliseconds\((\d+)\)/, below: .max) == [])
        #expect(Self.short(/waitForEnd\(deadline: \.seconds\((\d+)\)/, below: .max) == [])
    }

    @Test func `a time limit leaves room, and that of a quick suite for all others`() throws {
        let quick = try Self.quick.get()
        #expect(quick.count == 11)
        let files = Self.tests.filter { file in quick.contains(where: file.path.hasPrefix) }
        #expect(files.count > 100)
        #expect(Self.short(/\.timeLimit\(\.minutes\((\d+)\)/, below: .max, in: files) == [])
        #expect(Self.short(/\.timeLimit\(\.minutes\((\d+)\)/, below: 10) == [])
    }
}
