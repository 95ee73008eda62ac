import Foundation
import Platform
import Testing

final class InputFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "input-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func file(_ bytes: [UInt8]) throws -> InputFile {
        let url = folder.appending(path: UUID().uuidString)
        try Data(bytes).write(to: url)
        return try #require(InputFile(path: url.path))
    }

    @Test(arguments: [0, 1, 99, 100, 101, 70_000, 131_072])
    func `a file is read whole, unless it is larger than it may be`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try file(bytes).readWhole(atMost: count) == bytes)
        #expect(try file(bytes).readWhole(atMost: 200_000) == bytes)
        guard count > 0 else { return }
        #expect(try file(bytes).readWhole(atMost: count - 1) == nil)
    }

    @Test func `pieces come one after the other, and none at the end`() throws {
        let file = try file(Array("abcde".utf8))
        #expect(try file.read(upTo: 2) == Array("ab".utf8))
        #expect(try file.read(upTo: 10) == Array("cde".utf8))
        #expect(try file.read(upTo: 10).isEmpty)
    }

    @Test func `a folder is known for one, and reading it says why it cannot be`() throws {
        let input = try #require(InputFile(path: folder.path))
        #expect(input.isFolder)
        #expect { try input.read(upTo: 1) } throws: { "\($0)" == "Is a directory" }
        #expect(InputFile(path: folder.path + "/none") == nil)
    }
}
