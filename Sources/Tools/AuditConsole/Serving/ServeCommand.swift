import Commands
package import DeadLetters
import Settings
import Store

/// The commands of the `dead-letter` tool that belong to the console.
package enum ConsoleCommands {
    package static let all: [any DeadLetterCommand.Type] = [ServeCommand.self, PasswordCommand.self]
}

enum ServeCommand: DeadLetterCommand {
    static let name = "serve"
    static let summary =
        "Serves the web console to signed-in users alone: with a file of passwords "
        + "(console.password_file) or behind a proxy that signs them in "
        + "(console.proxy_addresses). Ends on SIGTERM or Ctrl-C. deploy/SETTINGS.md describes its settings."
    static let role = DatabaseRole.replay
    static let settings = ConsoleSettings.declarations

    private static let overrides: [(option: CommandOption, setting: SettingDeclaration)] = [
        (
            CommandOption("address", argument: "ADDRESS", "Listen address; 127.0.0.1."),
            ConsoleSettings.address.declaration
        ),
        (CommandOption("port", short: "p", argument: "PORT", "Listen port; 9440."), ConsoleSettings.port.declaration),
        (
            CommandOption(
                "public-url", argument: "URL",
                "What users type to reach it through a proxy, such as https://audit.example.com."),
            ConsoleSettings.publicURL.declaration
        ),
        (
            CommandOption("password-file", argument: "FILE", "Users with passwords."),
            ConsoleSettings.passwordFile.declaration
        ),
    ]

    static let options: [CommandOption] = overrides.map(\.option) + [.check, .connect]
    static let commonOptions = DeadLetterSettings.options

    static func run(_ context: ToolContext) async throws -> Int32 {
        let isCheck = try CommandOption.isCheckWanted(context.arguments)
        let values = try ConsoleService.schema.read(
            context.arguments, environment: context.environment,
            overrides: overrides.map { ($0.option.long, $0.setting) })
        let problems = ConsoleSettings.problems(values)
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        if isCheck {
            _ = try values[ConsoleSettings.passwordFile].map(PasswordFile.init(path:))
            context.console.print(text: values.report)
            guard context.arguments.isSet(CommandOption.connect.long) else { return ExitCode.success }
            let findings = await DeadLetterSettings.connections(context.values, role: role)
            return context.console.print(findings.outcome(of: "\(DeadLetterTool.name) \(name)"))
        }
        if let note = ConsoleSettings.note(values) { context.console.note(note) }
        let database = try await context.database()
        let chains = ChainProgress(context)
        let service = try ConsoleService(
            values, database: database,
            // A page reports after this time that Kafka does not answer.
            topic: context.topic.within(.milliseconds(1_500)), replays: try context.replays(on: database),
            chains: ChainWatch { try await chains.report() })
        context.console.note("the console is at \(service.url)")
        do {
            try await Interruption.cancelling {
                await context.followingSecrets(of: database) { await Interruption.wait() }
            }
        } catch is CancellationError {}
        await service.stop()
        return ExitCode.success
    }
}
