import Operations
package import Settings

/// The measurements of `deploy/measured.md`, one subcommand each.
package enum BenchCommand {
    private static let usage = """
        Usage: bench COMMAND [OPTION]…

        Commands:
          verify     the verifier against OpenSSL alone
          dedupe     the deduplication of pure duplicates, on a real Kafka
          entitle    the entitle stage by kind of record, PostgreSQL beside it
          pipeline   from the raw topic to committed rows, on a real Kafka
          compare    two builds in turns, by their own bench pipeline
          dead-letters   the index of dead letters, on PostgreSQL alone
          capacity   workers, partitions, brokers and disk for a daily volume

        bench COMMAND --help explains a command's options.
        """

    package static func run(_ arguments: [String], console: Console) async -> Int32 {
        do {
            switch arguments.first {
            case "verify":
                return try VerifyCommand.run(arguments.dropFirst(), console: console)
            case "dedupe":
                return try await DedupeCommand.run(arguments.dropFirst(), console: console)
            case "entitle":
                return try await EntitleCommand.run(arguments.dropFirst(), console: console)
            case "pipeline":
                return try await PipelineCommand.run(arguments.dropFirst(), console: console)
            case "compare":
                return try await CompareCommand.run(arguments.dropFirst(), console: console)
            case "dead-letters":
                return try await DeadLettersCommand.run(arguments.dropFirst(), console: console)
            case "capacity":
                return try CapacityCommand.run(arguments.dropFirst(), console: console)
            case "--help", "-h":
                console.print(text: usage)
                return ExitCode.success
            case "--version":
                console.print(text: CommandOption.versionLine("bench"))
                return ExitCode.success
            default:
                throw UsageError(
                    "expected a command: verify, dedupe, entitle, pipeline, compare, dead-letters "
                        + "or capacity"
                )
            }
        } catch let error as UsageError {
            console.note("bench: \(error)\nTry: bench --help")
            return ExitCode.usage
        } catch {
            console.note("bench: \(error)")
            return ExitCode.software
        }
    }
}

/// The command lines of the measurements.
enum BenchOptions {
    /// Nil where help was asked for, which is then printed.
    static func parsed(
        _ syntax: CommandSyntax,
        _ arguments: some Sequence<String>,
        _ console: Console
    ) throws(UsageError) -> CommandArguments? {
        let options = try syntax.parse(arguments)
        guard options.isHelpWanted else { return options }
        console.print(text: syntax.help)
        return nil
    }

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
