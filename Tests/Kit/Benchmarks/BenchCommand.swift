package import Commands
import JSON
import Operations
import Settings

/// The measurements of `deploy/measured.md`, one command each.
package enum BenchCommand {
    package static let tool = CommandTool(
        "bench", introduction: ["Measures the product; the figures of deploy/measured.md are its output."],
        settings: ToolSettings.known,
        commands: [VerifyCommand.command, PipelineCommand.command, CompareCommand.command])
}

/// The command lines of the measurements.
enum BenchOptions {
    static func number(_ options: CommandArguments, _ name: String, in range: ClosedRange<Int>) throws(UsageError)
        -> Int?
    {
        guard let text = options.value(name) else { return nil }
        return try number(text, name, in: range)
    }

    /// Reads numbers separated by commas.
    static func numbers(_ options: CommandArguments, _ name: String, in range: ClosedRange<Int>) throws(UsageError)
        -> [Int]?
    {
        guard let text = options.value(name) else { return nil }
        var numbers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            numbers.append(try number(String(part), name, in: range))
        }
        return numbers
    }

    private static func number(_ text: String, _ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw UsageError("--\(name): expected \(range.lowerBound) to \(range.upperBound), found \"\(text)\"")
        }
        return value
    }
}

/// A measurement without a result, and the reason.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The result of a measurement.
protocol BenchReport: Report { var lines: [String] { get } }

extension BenchReport { var parts: [TextPart] { lines.map { .line($0) } } }
