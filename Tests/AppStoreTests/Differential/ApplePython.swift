import Foundation
import TestSupport
import Testing

/// Apple's Python library in an environment of its own, installed from the package index.
///
/// All tests of the process share one environment; its folder is removed when the process ends.
final class ApplePython: Sendable {
    /// The version that the explained differences were found with.
    static let version = "3.1.2"

    /// The shared environment.
    ///
    /// `nil` without Python or without access to the package index.
    static let shared: ApplePython? = try? ApplePython()

    private let folder: URL

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appending(
            path: "apple-library-\(ProcessInfo.processInfo.processIdentifier)")
        try Self.run("/usr/bin/env", ["python3", "-m", "venv", folder.path])
        try Self.run(
            python,
            [
                "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
                "app-store-server-library==\(Self.version)",
            ])
    }

    /// Removes the environment.
    func remove() { try? FileManager.default.removeItem(at: folder) }

    private var python: String { folder.appending(path: "bin/python").path }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let run = try ProgramRun(program, arguments)
        try #require(run.isSuccess, "\(run.text)")
    }

    /// A process that verifies bodies while this one does something else.
    func verify(_ bodies: [DifferentialBody], root: [UInt8]) throws -> Verification {
        let name = UUID().uuidString
        let rootFile = folder.appending(path: name + ".cer")
        let input = folder.appending(path: name + ".in")
        let output = folder.appending(path: name + ".out")
        try Data(root).write(to: rootFile)
        try Data(bodies.flatMap(\.line)).write(to: input)
        try Data().write(to: output)
        let script = ReferenceScript.root.appending(path: "Tests/Reference/apple_library.py")
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = ["-B", script.path, rootFile.path, Minted.bundleID, "\(Minted.appAppleID)"]
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
        return Verification(process: process, output: output)
    }

    struct Verification {
        fileprivate let process: Process
        fileprivate let output: URL

        /// Waits for the end; one verdict for each body.
        func verdicts() throws -> [String] {
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
            return text.split(separator: "\n").map(String.init)
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test if Apple's library cannot be installed, and reports it.
    static var needsApplesLibrary: Self {
        .enabled(
            if: ApplePython.shared != nil,
            "Apple's Python library cannot be installed: it needs python3 and the package index")
    }
}
