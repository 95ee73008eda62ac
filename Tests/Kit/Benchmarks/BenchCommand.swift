import Operations
package import Settings
import Simulation

/// The measurements of `deploy/measured.md`, one command each.
package enum BenchCommand {
    package static let tool = CommandTool(
        "bench",
        introduction: ["Measures the product; the figures of deploy/measured.md are its output."],
        settings: ToolSettings.known,
        commands: [
            VerifyCommand.command, DedupeCommand.command, EntitleCommand.command,
            PipelineCommand.command, CompareCommand.command, DeadLettersCommand.command,
            RecoveryCommand.command, CapacityCommand.command, FiguresCommand.command,
        ]
    )
}

/// The command lines of the measurements.
enum BenchOptions {
    static func kafka(_ options: CommandArguments) throws(UsageError) -> String {
        guard let kafka = options.value("kafka") else {
            throw UsageError("--kafka: expected the bootstrap servers to measure on")
        }
        return kafka
    }

    static func number(
        _ options: CommandArguments,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> Int? {
        guard let text = options.value(name) else { return nil }
        return try number(text, name, in: range)
    }

    /// Several, with commas between.
    static func numbers(
        _ options: CommandArguments,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> [Int]? {
        guard let text = options.value(name) else { return nil }
        var numbers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            numbers.append(try number(String(part), name, in: range))
        }
        return numbers
    }

    private static func number(
        _ text: String,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw UsageError(
                "--\(name): expected \(range.lowerBound) to \(range.upperBound), found \"\(text)\""
            )
        }
        return value
    }
}

/// Why a measurement came to nothing.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension PrivatePostgres.Configuration {
    /// A server that loses nothing, with memory and log for the rows of a measurement.
    static var durable: PrivatePostgres.Configuration {
        var configuration = PrivatePostgres.Configuration()
        configuration.isDurable = true
        configuration.settings = ["shared_buffers": "512MB", "max_wal_size": "4GB"]
        return configuration
    }
}
