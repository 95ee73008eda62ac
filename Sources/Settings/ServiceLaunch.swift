/// How a service begins: with its settings, or with something to say and an exit code.
package enum ServiceLaunch: Sendable {
    /// With the settings, and where they can be read again.
    case run(SettingsValues, SettingsSource)
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
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) -> ServiceLaunch {
        let syntax = CommandSyntax(program, summary, options: options)
        do {
            let parsed = try syntax.parse(arguments)
            if parsed.isHelpWanted {
                let help =
                    syntax.help + "\nSettings, in the environment or the file:\n" + schema.help
                return .finish(CommandOutcome(exitCode: ExitCode.success, output: help))
            }
            let source = SettingsSource(
                schema: schema,
                environment: environment,
                filePath: parsed.value("config"),
                problems: problems
            )
            let values = try source.read()
            guard parsed.isSet("check") else { return .run(values, source) }
            return .finish(CommandOutcome(exitCode: ExitCode.success, output: values.report))
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
}
