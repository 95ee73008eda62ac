import Commands
import Postgres
import Settings
import Store

extension ToolCommand {
    static let grants = ToolCommand(
        "grants",
        "Prints or applies the rights of every worker, of auditors and of operators.\n\n"
            + "In PostgreSQL one role each, in Kafka one principal each, of the same name, "
            + "with what it needs and nothing else. SQL and the commands of Kafka's "
            + "kafka-acls.sh are printed; with --apply the SQL is executed instead, and Kafka's "
            + "commands are yours to run. May be run again at any time, and has to be after a "
            + "migration: PostgreSQL's rights are then exactly these. Brokers without an "
            + "authorizer have no rights. New roles may log in and have no password yet: "
            + "ALTER ROLE \"link-worker\" PASSWORD '…', or \\password in psql.",
        options: CommandOption.kafka + [
            .groupPrefix, .postgres, .config, CommandOption("apply", "Execute the SQL, as the owner of the schema."),
            CommandOption(
                "name-prefix", argument: "TEXT", "Put before every role's and principal's name; nothing by default."),
            CommandOption(
                "principal", argument: "PATTERN",
                "What Kafka calls the holder of a name, with {} for it; User:{} by default, "
                    + "User:CN={} for client certificates without a mapping rule."),
        ]
    ) { context in
        let pattern = context.arguments.value("principal") ?? "User:{}"
        guard pattern.contains("{}"), pattern.contains(":") else {
            throw UsageError("--principal: expected a type and {}, such as User:CN={}")
        }
        let prefix = context.arguments.value("name-prefix") ?? ""
        guard !context.arguments.isSet("apply") else { return try await apply(prefix, context) }
        let settings = try context.settings([.database, .kafka])
        let schema = settings[DatabaseSettings.schema]
        let script = DatabaseRole.script(DatabaseRole.all, schema: schema, prefix: prefix)
        // One transaction, so that nobody lacks rights in between.
        context.console.print(text: "-- PostgreSQL, as the owner of the schema\nBEGIN;\n\(script)\nCOMMIT;\n")
        let plan = AccessPlan(settings) { pattern.replacing("{}", with: prefix + $0) }
        context.console.print("# Kafka, as an admin")
        plan.rules.forEach { context.console.print($0.command) }
        context.console.print("# Rights of earlier versions, which nobody has any more")
        context.console.print(plan.withdrawn.removal)
        return ExitCode.success
    }

    private static func apply(_ prefix: String, _ context: OperatorContext) async throws -> Int32 {
        let settings = try context.settings(.database)
        try await settings.withDatabase { connection in
            try await DatabaseRole.grant(
                DatabaseRole.all, schema: settings[DatabaseSettings.schema], prefix: prefix, on: connection)
        }
        context.console.print("PostgreSQL: \(DatabaseRole.all.count) roles have their rights")
        context.console.note(
            "A new role has no password yet, and cannot sign in by one: "
                + "ALTER ROLE \"\(prefix)\(DatabaseRole.operations.name)\" PASSWORD '…', or "
                + "\\password in psql, and so for each")
        context.console.note(
            "Kafka's rights are not changed: run the kafka-acls.sh commands that this prints without --apply")
        return ExitCode.success
    }
}
