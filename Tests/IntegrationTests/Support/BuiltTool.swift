import Foundation
import Simulation
import Synchronization

/// An executable beside the workers', run to its end.
enum BuiltTool {
    struct Outcome: Sendable {
        let exitCode: Int32
        /// Standard output and standard error, line by line as they came.
        let output: String
    }

    /// - Parameter environment: the settings; of our own environment only the path of programs.
    static func run(
        _ program: String, _ arguments: [String], _ environment: [String: String], deadline: Duration = .seconds(120)
    ) async throws -> Outcome {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let process = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/\(program)", arguments: arguments,
            environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 },
            standardOutput: .file(path: file), standardError: .file(path: file))
        let end = try await process.waitForEnd(deadline: deadline)
        let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        guard case .exited(let code) = end else { throw PipelineFailure("\(program) ended otherwise: \(end): \(text)") }
        return Outcome(exitCode: code, output: text)
    }
}
