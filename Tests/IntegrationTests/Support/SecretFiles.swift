import Foundation

/// Files that hold secrets, each replaced at once.
final class SecretFiles: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    func write(_ secret: String, to name: String) throws {
        try Data("\(secret)\n".utf8).write(to: folder.appending(path: name), options: .atomic)
    }

    func copy(_ path: String, to name: String) throws {
        try Data(contentsOf: URL(filePath: path)).write(to: folder.appending(path: name), options: .atomic)
    }
}
