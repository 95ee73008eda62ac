package import Foundation

/// Prometheus' own check of metrics and rules.
package enum Promtool {
    package static let path = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Whether it accepts an exposition.
    package static func check(_ text: [UInt8]) throws -> (exitCode: Int32, output: String) {
        try run(["check", "metrics"], input: Data(text))
    }

    /// Runs it in a folder.
    package static func run(_ arguments: [String], in folder: URL? = nil, input bytes: Data = Data()) throws -> (
        exitCode: Int32, output: String
    ) {
        let run = try ProgramRun(path ?? "/usr/bin/promtool", arguments, in: folder, input: bytes)
        return (run.status, run.text)
    }
}
