import AppStore
import Benchmarks
import Commands
import DeadLetters
import Demonstration
import IndexStage
import JSON
import Kafka
import OpenSSL
import Operations
import Records
import Settings
import TestSupport
import Testing

@Suite struct TopicSchemaTests {
    @Test func `every example of every topic's schema is valid`() async throws {
        let verdict = try PublishedSchema.topics.validateExamples()
        #expect(verdict.isValid, "\(verdict.report)")
    }

    @Test func `every command that prints JSON has a schema with valid examples`() throws {
        let tools = [
            PipelineTool.tool, DeadLetterTool.tool(adding: [IndexCommand.self]), DemoTool.tool, BenchCommand.tool,
        ]
        let commands = tools.flatMap(\.commands).map(\.syntax).filter { syntax in
            syntax.options.contains { $0.long == CommandOption.json.long }
        }
        let names = commands.map { $0.command.replacing(" ", with: ".") }
        let options = commands.flatMap { syntax in
            syntax.options.map { "\(syntax.command).\($0.long)".replacing(" ", with: ".") }
        }
        // An option whose answer is another one has a schema of its own.
        let others = try PublishedSchema.tools.names.subtracting(names)
        #expect(try PublishedSchema.tools.names.isSuperset(of: names) && others.isSubset(of: options), "\(others)")
        let verdict = try PublishedSchema.tools.validateExamples()
        #expect(verdict.isValid, "\(verdict.report)")
    }

    /// A consumer that validates by the schema refuses a member that it does not name.
    @Test func `the head of every scenario's facts fits the schema`() async throws {
        let values = try Scenario.names.flatMap { name in
            try Scenario.load(name).observations.compactMap { $0.record(for: "verified").value }
        }
        #expect(values.count > 100)
        // Payloads have several lines there, and go one to a line to the script.
        let lines = values.map { $0.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } }
        let verdict = try PublishedSchema.topics.validate(lines, against: "verified")
        #expect(verdict.isValid, "\(verdict.report.prefix(2_000))")
    }

    @Test func `a schema refuses what its topic never carries`() async throws {
        let verdict = try PublishedSchema.topics.validate([Array("{}".utf8)], against: "verified")
        #expect(!verdict.isValid)
    }
}
