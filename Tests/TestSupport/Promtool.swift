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
    package static func run(
        _ arguments: [String],
        in folder: URL? = nil,
        input bytes: Data = Data()
    ) throws -> (exitCode: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path ?? "/usr/bin/promtool")
        process.currentDirectoryURL = folder
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: bytes)
        try input.fileHandleForWriting.close()
        let reported = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: reported, as: UTF8.self))
    }
}
