/// How a service begins: with its settings, or with something to say and an exit code.
package enum ServiceLaunch: Sendable {
    case run(SettingsValues)
    case finish(CommandOutcome)

    /// Reads the command line (`--config FILE`, `--check`, `--help`) and the settings.
    ///
    /// - Parameters:
    ///   - program: the executable's name.
    ///   - summary: what the executable does, in a sentence.
    ///   - arguments: without the executable's own path.
    ///   - problems: judges what only the whole of the settings shows; called once they are all
    ///     of the right type.
    package static func read(
        program: String,
        summary: String,
        schema: SettingsSchema,
        arguments: [String],
        environment: [String: String],
        problems: (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) -> ServiceLaunch {
        let syntax = CommandSyntax(program, summary, options: options)
        do {
            let parsed = try syntax.parse(arguments)
            if parsed.isHelpWanted {
                let help =
                    syntax.help + "\nSettings, in the environment or the file:\n" + schema.help
                return .finish(CommandOutcome(exitCode: ExitCode.success, output: help))
            }
            return try launch(schema, parsed, environment, problems)
        } catch let error as UsageError {
            return .finish(
                CommandOutcome(
                    exitCode: ExitCode.usage,
                    errors: "\(program): \(error)\nTry '\(program) --help'.\n"
                )
            )
        } catch let error as SettingsError {
            return .finish(
                CommandOutcome(
                    exitCode: ExitCode.configuration,
                    errors: "\(program): \(error.problems.count) problem(s) with the settings\n"
                        + error.problems.map { "  \($0)\n" }.joined()
                )
            )
        } catch {
            return .finish(
                CommandOutcome(exitCode: ExitCode.software, errors: "\(program): \(error)\n")
            )
        }
    }

    private static let options = [
        CommandOption("config", short: "c", argument: "FILE", "A JSON file of settings."),
        CommandOption(
            "check",
            "Print the effective settings, secrets masked, and exit; 78 when something is wrong."
        ),
    ]

    private static func launch(
        _ schema: SettingsSchema,
        _ parsed: CommandArguments,
        _ environment: [String: String],
        _ problems: (SettingsValues) -> [SettingProblem]
    ) throws -> ServiceLaunch {
        let file = try parsed.value("config").map { path throws(SettingsError) in
            try SettingsFile(path: path)
        }
        let values = try schema.read(environment: environment, file: file)
        let found = problems(values)
        guard found.isEmpty else { throw SettingsError(problems: found) }
        guard parsed.isSet("check") else { return .run(values) }
        return .finish(CommandOutcome(exitCode: ExitCode.success, output: values.report))
    }
}
