import Foundation
import Testing

/// The package's own files, as the style checks read them.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of the executables that were built with these tests.
    static var products: URL { URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent() }

    struct File: Sendable, CustomStringConvertible {
        /// The path relative to the package's root.
        let path: String
        let lines: [Substring]

        var description: String { path }
    }

    /// Every Swift file below one of the folders, in path order.
    static func swiftFiles(below folders: [String]) throws -> [File] {
        try folders.flatMap { folder -> [File] in
            let base = root.appending(path: folder)
            let found = FileManager.default.enumerator(atPath: base.path)?.allObjects ?? []
            return try found.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.map { name in
                let text = try String(contentsOf: base.appending(path: name), encoding: .utf8)
                return File(
                    path: "\(folder)/\(name)", lines: text.split(separator: "\n", omittingEmptySubsequences: false))
            }
        }.sorted { $0.path < $1.path }
    }

    /// The paths that git tracks, relative to the package's root.
    ///
    /// `nil` without git or a repository.
    static let tracked: [String]? = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["git", "-C", root.path, "ls-files"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let bytes = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }()
}

extension Trait where Self == ConditionTrait {
    /// Skips a test of every tracked file where git lists none, and says so.
    static var needsRepository: Self {
        .enabled(if: SourceTree.tracked != nil, "no git, or \(SourceTree.root.path) is no repository")
    }
}
