package import AppStore
package import Commands
import Kafka
import Platform
package import Postgres
import Records
package import Settings
package import Store

package protocol DeadLetterCommand: SendableMetatype {
    static var name: String { get }
    static var summary: String { get }
    /// The operands' name in the help; empty if the command takes none.
    static var operands: String { get }
    static var operandCount: ClosedRange<Int> { get }
    /// Options of the command alone.
    static var options: [CommandOption] { get }
    /// Options that the command shares with others.
    static var commonOptions: [CommandOption] { get }
    /// The role of `pipeline grants` with all rights that the command needs.
    static var role: DatabaseRole { get }
    /// Settings that this command alone reads.
    static var settings: [SettingDeclaration] { get }

    /// Performs the command and returns its exit code.
    static func run(_ context: ToolContext) async throws -> Int32
}

extension DeadLetterCommand {
    package static var operands: String { "" }
    package static var operandCount: ClosedRange<Int> { 0...0 }
    package static var options: [CommandOption] { [] }
    package static var commonOptions: [CommandOption] { DeadLetterSettings.options + [.json] }
    package static var role: DatabaseRole { .auditor }
    package static var settings: [SettingDeclaration] { [] }

    package static var syntax: CommandSyntax {
        CommandSyntax(
            "\(DeadLetterTool.name) \(name)", summary, operands: operands, operandCount: operandCount,
            options: options + commonOptions)
    }
}

/// The environment of a command.
package struct ToolContext: Sendable {
    package let arguments: CommandArguments
    package let environment: [String: String]
    package let values: SettingsValues
    package let topic: DeadLetterTopic
    /// The database of the index.
    ///
    /// `nil` if none is configured.
    package let client: PostgresClient?
    package let now: Timestamp
    package let console: Console

    /// - Throws: a `SettingsError`.
    package init(_ arguments: CommandArguments, _ context: CommandContext) throws {
        self.arguments = arguments
        environment = context.environment
        values = try DeadLetterSettings.read(arguments, environment: context.environment)
        topic = DeadLetterSettings.topic(values)
        client = DeadLetterSettings.client(values)
        now = Timestamp(milliseconds: WallClock.milliseconds)
        console = context.console
    }

    package var isJSON: Bool { arguments.isSet("json") }
    /// Whether tables show all columns.
    var isWide: Bool { arguments.isSet(CommandOption.wide.long) }

    /// The user of the tool, for the history: `--as`, else the environment's user.
    ///
    /// - Throws: if no name is known, or the name is too long or has control characters.
    func auditor() throws(UsageError) -> AuditorName {
        let names = ["SUDO_USER", "LOGNAME", "USER"].map { environment[$0] }
        let given = ([arguments.value("as")] + names).compactMap(\.self)
        guard let text = given.first(where: { !$0.isEmpty }) else {
            throw UsageError("say who you are, for the history: --as NAME")
        }
        guard let name = AuditorName(text) else {
            throw UsageError("expected a name of 1 to 255 bytes without control characters")
        }
        return name
    }

    static let auditorOption = CommandOption(
        "as", argument: "NAME", "Who does this, for the history; else SUDO_USER, LOGNAME or USER.")

    /// The reason for the action, for the history.
    ///
    /// - Throws: if `--why` is missing or too long.
    func reason() throws(UsageError) -> String {
        guard let why = arguments.value("why"), (1...2_000).contains(why.utf8.count) else {
            throw UsageError("say why, for the history: --why TEXT, of at most 2,000 bytes")
        }
        return why
    }

    /// Records who receives originals and why, before they are handed out.
    ///
    /// Without a database, only prints a note.
    func record(_ kind: DeadLetterAction.Kind, of letter: String? = nil, detail: String?) async throws {
        let why = try reason()
        guard client != nil else {
            console.note("not recorded: no database is configured")
            return
        }
        let action = NewDeadLetterAction(who: try auditor(), kind: kind, why: why, deadLetterID: letter, detail: detail)
        try await DeadLetterActionTable.append([action], on: try await database())
    }

    /// The database, for a command that requires it.
    ///
    /// - Throws: if none is configured, it does not answer, or it is not migrated far enough.
    package func database() async throws -> PostgresClient {
        guard let client else {
            throw CommandError(
                ExitCode.configuration,
                "this needs the index: set database.url (DATABASE_URL) or --postgres, and keep "
                    + "'\(DeadLetterTool.name) index' running")
        }
        try await SchemaVersion.require(client)
        return client
    }

    /// The database of the index.
    ///
    /// `nil` if the topic itself is to be read: no database is configured, the index has never run
    /// for this topic, or `--from-topic` is given.
    func index() async throws -> PostgresClient? {
        guard client != nil, !arguments.isSet(Self.fromTopic.long) else { return nil }
        let database = try await database()
        let progress = try await DeadLetterIndexTable.progress(on: database)
        guard progress.contains(where: { $0.topic == topic.name }) else {
            console.note("'\(DeadLetterTool.name) index' has never run for \(topic.name): the topic itself is read")
            return nil
        }
        return database
    }

    /// IDs of the letters with a recorded redaction.
    ///
    /// `nil` if no database is configured.
    func redactions() async throws -> Set<String>? {
        guard client != nil else { return nil }
        return try await DeadLetterActionTable.redacted(on: try await database())
    }

    /// Visits every letter of the topic, and shows the progress.
    func readTopic(since: Timestamp? = nil, _ visit: (DeadLetter, ConsumerRecord) -> Void) async throws
        -> DeadLetterTopic.Summary
    {
        try await showingProgress("reading \(topic.name)") { progress in
            try await topic.read(since: since, progress: progress, visit)
        }
    }

    /// Shows the number of records read in a line while `body` runs, and removes the line afterwards.
    func showingProgress<T>(_ step: String, _ body: (TopicScan.Progress) async throws -> T) async rethrows -> T {
        var line = ProgressLine(console: console)
        defer { line.clear() }
        return try await body { line.show(step, done: $0, of: $1, "record") }
    }

    static let fromTopic = CommandOption("from-topic", "Read the topic itself, from its beginning, and not the index.")
}
