import Foundation
import Platform
import Testing

final class FileSystemTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    @Test func `a folder names what is in it, hidden files and other scripts too`() throws {
        #expect(FileSystem.names(in: folder.path) == [])
        let names = [".hidden", "0001_facts.sql", "größe", String(repeating: "n", count: 255)]
        for name in names { try Data().write(to: folder.appending(path: name)) }
        #expect(FileSystem.names(in: folder.path)?.sorted() == names.sorted())
    }

    @Test func `what is no folder has no names`() throws {
        try Data("a".utf8).write(to: folder.appending(path: "file"))
        #expect(FileSystem.names(in: path("file")) == nil)
        #expect(FileSystem.names(in: path("none")) == nil)
        #expect(FileSystem.names(in: "") == nil)
    }

    @Test func `files and folders are told apart, also behind a link`() throws {
        let manager = FileManager.default
        try Data("a".utf8).write(to: folder.appending(path: "file"))
        try manager.createSymbolicLink(atPath: path("link"), withDestinationPath: path("file"))
        try manager.createSymbolicLink(atPath: path("up"), withDestinationPath: folder.path)
        try manager.createSymbolicLink(atPath: path("broken"), withDestinationPath: path("none"))
        #expect(FileSystem.isFolder(folder.path))
        #expect(FileSystem.isFolder(path("up")))
        #expect(FileSystem.isReadableFile(path("file")))
        #expect(FileSystem.isReadableFile(path("link")))
        for name in ["file", "link", "broken", "none"] { #expect(!FileSystem.isFolder(path(name)), "\(name)") }
        for name in ["", "up", "broken", "none"] { #expect(!FileSystem.isReadableFile(path(name)), "\(name)") }
    }
}
