package import Foundation

/// A script of `Tests/Reference`, run by Debian's own Python: its packages are installed for that
/// one.
package struct ReferenceScript: Sendable {
    package struct Result: Sendable {
        package let isSuccess: Bool
        /// The script's output, followed by its errors.
        package let output: Data
    }

    /// The package's folder.
    package static let root = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    private let path: String
    private let python: URL

    /// - Parameters:
    ///   - name: the path below `Tests/Reference`.
    ///   - python: another Python than Debian's own.
    package init(_ name: String, python: URL = URL(filePath: "/usr/bin/python3")) {
        path = Self.root.appending(path: "Tests/Reference/\(name)").path
        self.python = python
    }

    /// Blocks until the script has ended.
    package func run(_ arguments: [String], input: Data = Data()) throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try input.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = python
        // Compiled modules would lie beside the sources.
        process.arguments = ["-B", path] + arguments
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(isSuccess: process.terminationStatus == 0, output: printed)
    }
}
