import Kafka
import Postgres
import Settings
import Store

extension ToolCommand {
    static let grants = ToolCommand(
        "grants",
        "Prints or applies the rights of every worker, of auditors and of operators.\n\n"
            + "In PostgreSQL one role each, in Kafka one principal each, of the same name, "
            + "with what it needs and nothing else. Without --apply SQL and the commands of "
            + "Kafka's kafka-acls.sh are printed. May be run again at any time, and has to be "
            + "after a migration: PostgreSQL's rights are then exactly these, Kafka's are "
            + "added to, and enforced by every broker when it returns. Brokers without an "
            + "authorizer have no rights: Kafka's part is left out there. New roles may log in "
            + "and have no password yet: ALTER ROLE \"link-worker\" PASSWORD '…', or "
            + "\\password in psql.",
        options: CommandOption.kafka + [
            .groupPrefix, .postgres, .config,
            CommandOption("apply", "Apply them, as the owner of the schema and as an admin."),
            CommandOption(
                "only",
                argument: "SYSTEM",
                "postgres or kafka: the settings of the other are not needed then."
            ),
            CommandOption(
                "name-prefix",
                argument: "TEXT",
                "Put before every role's and principal's name; nothing by default."
            ),
            CommandOption(
                "principal",
                argument: "PATTERN",
                "What Kafka calls the holder of a name, with {} for it; User:{} by default, "
                    + "User:CN={} for client certificates without a mapping rule."
            ),
        ]
    ) { context in
        let only = context.arguments.value("only")
        guard only == nil || only == "postgres" || only == "kafka" else {
            throw UsageError("--only: expected postgres or kafka, found \"\(only ?? "")\"")
        }
        let pattern = context.arguments.value("principal") ?? "User:{}"
        guard pattern.contains("{}"), pattern.contains(":") else {
            throw UsageError("--principal: expected a type and {}, such as User:CN={}")
        }
        let prefix = context.arguments.value("name-prefix") ?? ""
        let isApplying = context.arguments.isSet("apply")
        if only != "kafka" {
            let settings = try context.settings(.database)
            try await grant(in: settings, prefix, isApplying: isApplying, context.console)
        }
        if only != "postgres" {
            let settings = try context.settings(.kafka)
            let plan = AccessPlan(settings) { name in
                pattern.replacing("{}", with: prefix + name)
            }
            guard isApplying else {
                context.console.print("# Kafka, as an admin")
                plan.rules.forEach { context.console.print($0.command) }
                context.console.print("# Rights of earlier versions, which nobody has any more")
                plan.withdrawn.forEach { context.console.print($0.removal) }
                return ExitCode.success
            }
            try await apply(plan, settings, isRequired: only == "kafka", context.console)
        }
        return ExitCode.success
    }

    private static func grant(
        in settings: SettingsValues,
        _ prefix: String,
        isApplying: Bool,
        _ console: Console
    ) async throws {
        let schema = settings[DatabaseSettings.schema]
        guard isApplying else {
            let script = DatabaseRole.script(DatabaseRole.all, schema: schema, prefix: prefix)
            // One transaction, so that nobody lacks rights in between.
            console.print(
                text: "-- PostgreSQL, as the owner of the schema\nBEGIN;\n\(script)\nCOMMIT;\n"
            )
            return
        }
        try await settings.withDatabase { connection in
            try await DatabaseRole.grant(
                DatabaseRole.all,
                schema: schema,
                prefix: prefix,
                on: connection
            )
        }
        console.print("PostgreSQL: \(DatabaseRole.all.count) roles have their rights")
        console.note(
            "A new role has no password yet, and cannot sign in by one: "
                + "ALTER ROLE \"\(prefix)\(DatabaseRole.operations.name)\" PASSWORD '…', or "
                + "\\password in psql, and so for each"
        )
    }

    private static func apply(
        _ plan: AccessPlan,
        _ settings: SettingsValues,
        isRequired: Bool,
        _ console: Console
    ) async throws {
        var left: [KafkaAccessRule] = []
        do {
            try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
                try await admin.allow(plan.rules, deadline: .seconds(30))
                for broker in try await admin.metadata(deadline: .seconds(30)).brokerIDs.prefix(1) {
                    let held = try await admin.enforcedRules(
                        ofBroker: broker,
                        deadline: .seconds(30)
                    )
                    left = plan.withdrawn.filter(held.contains)
                }
            }
        } catch let error as KafkaError where error.name == "SECURITY_DISABLED" && !isRequired {
            console.print(
                "Kafka: left out, as the brokers have no authorizer (authorizer.class.name): every "
                    + "client may do everything"
            )
            return
        }
        console.print("Kafka: \(plan.rules.count) rules are there")
        guard !left.isEmpty else { return }
        console.note("Rules of an earlier version are left; remove them:")
        left.forEach { console.note($0.removal) }
    }
}
