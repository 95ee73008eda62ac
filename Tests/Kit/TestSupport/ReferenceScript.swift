package import Foundation

/// A script of `Tests/Reference`, run by Debian's own Python: its packages are installed for that
/// one.
package struct ReferenceScript: Sendable {
    /// The package's folder.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private let path: String
    private let python: String

    /// - Parameters:
    ///   - name: the path below `Tests/Reference`.
    ///   - python: another Python than Debian's own.
    package init(_ name: String, python: String = "/usr/bin/python3") {
        path = Self.root.appending(path: "Tests/Reference/\(name)").path
        self.python = python
    }

    /// Blocks until the script has ended.
    package func run(_ arguments: [String], input: Data = Data()) throws -> ProgramRun {
        // Compiled modules would lie beside the sources.
        try ProgramRun(python, ["-B", path] + arguments, input: input)
    }
}
