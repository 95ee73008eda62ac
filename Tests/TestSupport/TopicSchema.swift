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

    private static func run(_ arguments: [String], input: Data) async throws -> Verdict {
        let folder = ReferenceScript.root.appending(path: "schemas/topics").path
        let result = try ReferenceScript("validate_topics.py").run(
            [folder] + arguments,
            input: input
        )
        return Verdict(
            isValid: result.isSuccess,
            report: result.text
        )
    }
}
