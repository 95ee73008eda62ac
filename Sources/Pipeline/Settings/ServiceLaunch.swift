import Glibc
import Platform
import Release

/// The result of reading a command line: a service to run, or an output and an exit code.
package enum ServiceLaunch: Sendable {
    /// Run the service with the settings, which can be read again from the source.
    case run(SettingsValues, SettingsSource)
    /// Check the connections that the settings name; the outcome is the result of `--check` so far.
    case connect(SettingsValues, CommandOutcome)
    case finish(CommandOutcome)

    /// Reads the command line (`--config FILE`, `--check`, `--connect`, `--version`,
    /// `--help`) and the settings.
    ///
    /// - Parameters:
    ///   - program: the executable's name.
    ///   - summary: a sentence about the purpose of the executable.
    ///   - arguments: the arguments without the executable's path.
    ///   - problems: checks combinations of settings; called if each setting is valid by itself.
    package static func read(
        program: String, summary: String, schema: SettingsSchema, arguments: [String], environment: [String: String],
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) -> ServiceLaunch {
        let syntax = CommandSyntax(program, summary, options: options)
        do {
            let parsed = try syntax.parse(arguments)
            if parsed.isHelpWanted {
                let help = syntax.help + "\nSettings, in the environment or the file:\n" + schema.help
                return .finish(CommandOutcome(exitCode: ExitCode.success, output: help))
            }
            if parsed.isSet(CommandOption.version.long) {
                let line = CommandOption.versionLine(program)
                return .finish(CommandOutcome(exitCode: ExitCode.success, output: line))
            }
            let isCheck = try CommandOption.isCheckWanted(parsed)
            let source = SettingsSource(
                schema: schema, environment: environment, filePath: parsed.value("config"), problems: problems)
            let values = try source.read()
            guard isCheck else { return .run(values, source) }
            let outcome = CommandOutcome(
                exitCode: ExitCode.success, output: values.report,
                errors: (source.slips + source.exposures(values)).map { "\(program): \($0)\n" }.joined())
            return parsed.isSet(CommandOption.connect.long) ? .connect(values, outcome) : .finish(outcome)
        } catch let error as UsageError {
            return failure(ExitCode.usage, "\(program): \(error)\nTry '\(program) --help'.\n")
        } catch let error as SettingsError {
            return failure(
                ExitCode.configuration,
                "\(program): \(error.problems.count) problem(s) with the settings\n"
                    + error.problems.map { "  \($0)\n" }.joined())
        } catch { return failure(ExitCode.software, "\(program): \(error)\n") }
    }

    private static func failure(_ exitCode: Int32, _ errors: String) -> ServiceLaunch {
        .finish(CommandOutcome(exitCode: exitCode, errors: errors))
    }

    private static let options = [
        CommandOption("config", short: "c", argument: "FILE", "A JSON file of settings."), CommandOption.check,
        CommandOption.connect, CommandOption.version,
    ]
}

extension CommandOption {
    /// The option with which a service reads its settings without opening a connection.
    package static let check = CommandOption(
        "check", "Print the effective settings, secrets masked, and exit; 78 when something is wrong.")
    /// The option that adds requests to the servers to `check`.
    package static let connect = CommandOption(
        "connect",
        "With --check: also try Kafka, the topics, the database, its schema and the rights in it, "
            + "each for 10 s at most, and list all that is wrong; 78 when something has to be "
            + "changed, 69 when a server does not answer or Kafka lacks a topic or a right.")

    /// Whether to print the settings instead of running a service.
    package static func isCheckWanted(_ arguments: CommandArguments) throws(UsageError) -> Bool {
        guard arguments.isSet(check.long) || !arguments.isSet(connect.long) else {
            throw UsageError("--\(connect.long) is for --\(check.long)")
        }
        return arguments.isSet(check.long)
    }
}

extension CommandOption {
    /// The option that prints the version; every executable handles it before it reads a setting.
    package static let version = CommandOption("version", "Print version, commit and schema.")

    /// Returns the output of that option: `pipeline 1.4.0, commit 0123456789ab, schema 10`.
    package static func versionLine(_ program: String) -> String {
        "\(program) \(Release.version), commit \(Release.commit), schema \(Release.schema)\n"
    }

    /// Whether a tool's arguments ask for its version.
    package static func isVersionWanted(_ arguments: [String]) -> Bool { arguments == ["--\(version.long)"] }
}

/// The output and exit code of a command, for `main` to perform.
package struct CommandOutcome: Equatable, Sendable {
    package let exitCode: Int32
    package let output: String
    package let errors: String

    package init(exitCode: Int32, output: String = "", errors: String = "") {
        self.exitCode = exitCode
        self.output = output
        self.errors = errors
    }

    /// Writes both texts to the process's standard streams; returns the exit code.
    package func finish() -> Int32 {
        for (text, descriptor) in [(output, STDOUT_FILENO), (errors, STDERR_FILENO)] {
            FileSystem.write(Array(Printable.lines(text).utf8), to: descriptor)
        }
        return exitCode
    }
}
