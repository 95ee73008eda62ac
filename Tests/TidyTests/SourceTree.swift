import Foundation

/// The package's own files, as the style checks read them.
enum SourceTree {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of the executables that were built with these tests.
    static var products: URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    }

    struct File: Sendable, CustomStringConvertible {
        /// Relative to the package's root.
        let path: String
        let lines: [Substring]

        var description: String { path }
    }

    /// Every Swift file below one of the folders, in path order.
    static func swiftFiles(below folders: [String]) throws -> [File] {
        try folders.flatMap { folder -> [File] in
            let base = root.appending(path: folder)
            let found =
                FileManager.default.enumerator(atPath: base.path)?.allObjects
                ?? []
            return try found.compactMap { $0 as? String }
                .filter { $0.hasSuffix(".swift") }
                .map { name in
                    let text = try String(contentsOf: base.appending(path: name), encoding: .utf8)
                    return File(
                        path: "\(folder)/\(name)",
                        lines: text.split(separator: "\n", omittingEmptySubsequences: false)
                    )
                }
        }
        .sorted { $0.path < $1.path }
    }

    /// Runs git in the package; nil without git or a repository.
    static func git(_ arguments: String...) throws -> String? {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["git", "-C", root.path] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
