import Foundation
package import Testing

/// A folder of published schemas, applied by Debian's `python3-jsonschema`.
package struct PublishedSchema: Sendable {
    package struct Verdict: Sendable {
        package let isValid: Bool
        /// A line for each fault, or how many values were checked.
        package let report: String
    }

    /// The values of the topics' records.
    package static let topics = PublishedSchema("topics")
    /// The lines that the tools print with `--json`.
    package static let tools = PublishedSchema("tools")

    private let folder: URL

    private init(_ name: String) { folder = ReferenceScript.root.appending(path: "schemas/\(name)") }

    /// The names of the schemas.
    package var names: Set<String> {
        get throws {
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return Set(files.map { $0.replacing(".schema.json", with: "") })
        }
    }

    /// Checks every schema and each of its examples.
    package func validateExamples() throws -> Verdict { try run([], input: Data()) }

    /// Checks values, each a JSON document without line breaks, against one schema.
    package func validate(_ values: [[UInt8]], against name: String) throws -> Verdict {
        var lines = Data()
        for value in values {
            lines.append(contentsOf: value)
            lines.append(UInt8(ascii: "\n"))
        }
        return try run([name], input: lines)
    }

    private func run(_ arguments: [String], input: Data) throws -> Verdict {
        let result = try ReferenceScript("validate_schemas.py").run([folder.path] + arguments, input: input)
        return Verdict(isValid: result.isSuccess, report: result.text)
    }
}

extension PublishedSchema {
    /// Expects what a tool has printed with `--json` to fit its command's schema, line by line.
    ///
    /// - Parameter arguments: as given to the tool; without `--json` nothing is checked.
    package static func expect(
        _ tool: String, _ arguments: [String], _ output: some Sequence<UInt8>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard arguments.contains("--json") else { return }
        let lines = Array(output).split(separator: UInt8(ascii: "\n")).map { Array($0) }
        guard !lines.isEmpty else { return }
        // A schema of its own is named after the option that asks for another result.
        let words = Array(arguments.prefix { !$0.hasPrefix("-") })
        let options = arguments.filter { $0.hasPrefix("--") }.map { words + [String($0.dropFirst(2))] }
        do {
            let known = try tools.names
            let names = options + (0...2).reversed().map { Array(words.prefix($0)) }
            let name = names.lazy.map { ([tool] + $0).joined(separator: ".") }.first(where: known.contains)
            let schema = try #require(name, "\(words) has no schema", sourceLocation: sourceLocation)
            let verdict = try tools.validate(lines, against: schema)
            #expect(verdict.isValid, "\(verdict.report)", sourceLocation: sourceLocation)
        } catch { Issue.record(error, sourceLocation: sourceLocation) }
    }
}
