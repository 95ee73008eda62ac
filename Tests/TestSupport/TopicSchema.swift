import Foundation

/// The published schemas of the topics' values, applied by Debian's `python3-jsonschema`.
package enum TopicSchema {
    package struct Verdict: Sendable {
        package let isValid: Bool
        /// A line for each fault, or how many values were checked.
        package let report: String
    }

    /// Checks every schema and each of its examples.
    package static func validateExamples() async throws -> Verdict {
        try await run([], input: Data())
    }

    /// Checks values, each a JSON document without line breaks, against one topic's schema.
    package static func validate(_ values: [[UInt8]], against name: String) async throws -> Verdict
    {
        var lines = Data()
        for value in values {
            lines.append(contentsOf: value)
            lines.append(UInt8(ascii: "\n"))
        }
        return try await run([name], input: lines)
    }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func run(_ arguments: [String], input: Data) async throws -> Verdict {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try input.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        // Debian's own interpreter: the package is installed for that one.
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments =
            [
                root.appending(path: "Tests/Reference/validate_topics.py").path(),
                root.appending(path: "schemas/topics").path(),
            ] + arguments
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let report = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Verdict(
            isValid: process.terminationStatus == 0,
            report: String(decoding: report, as: UTF8.self)
        )
    }
}
