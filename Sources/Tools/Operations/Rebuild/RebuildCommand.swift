import Commands
import Postgres
import Settings
import Store

extension ToolCommand {
    static let rebuild = ToolCommand(
        "rebuild",
        "Writes facts as Apple signed them, and the owners and entitlements that follow from them.\n\n"
            + "Lists each row that differs, as 'plan --facts' does without writing, and writes facts, owners and "
            + "entitlements together. A payload that is missing or was edited, or a fact that is gone and of which "
            + "nobody knows who vouched for it, cannot be replaced: its line says what to do, and where a fact is "
            + "gone the entitlements of its purchase are kept. Runs beside the workers, under their locks. Exit "
            + "code 1 when there was a difference.",
        options: [CommandOption("replace", "Write what was signed, and what follows from it. Required.")] + [
            .postgres, .config, .json,
        ]
    ) { context in
        guard context.arguments.isSet("replace") else {
            throw UsageError("--replace is required; 'plan --facts' lists what differs and writes nothing")
        }
        return try await context.rebuild(isReplacing: true)
    }
}

extension CommandOption {
    static let factsPlan = CommandOption(
        "facts",
        "List each row that this version derives otherwise from what Apple signed: facts from the payloads in the "
            + "table revisions, owners by link-worker's stored rules, entitlements by the applied catalog. Compared "
            + "beside the workers under their locks, 200 purchases at a time; 'rebuild --replace' writes it.")
}

extension OperatorContext {
    /// Compares all rows with what Apple signed, and prints each difference.
    func rebuild(isReplacing: Bool) async throws -> Int32 {
        var progress = ProgressLine(console: console)
        let report = try await settings(.database).withDatabaseClient { client in
            do {
                let rebuilding = try await Rebuilding(client: client, isReplacing: isReplacing)
                let total = try await rebuilding.purchaseCount()
                progress.show("comparing", done: 0, of: total, "purchase")
                return try await rebuilding.run { differences, count in
                    if !differences.lines.isEmpty { progress.clear() }
                    if isJSON {
                        differences.jsonLines.forEach { console.print(json: $0) }
                    } else {
                        differences.lines.forEach { console.print($0) }
                    }
                    progress.show("comparing", done: count, of: total, "purchase")
                }
            } catch let error as PostgresError where error.fault == .operator {
                // Columns that a later version of the schema adds are the likeliest cause.
                try await SchemaVersion.require(client)
                throw error
            }
        }
        progress.clear()
        print(report.json, or: report.line)
        return ExitCode.answer(report.differenceCount == 0 && report.refusedCount == 0)
    }
}
