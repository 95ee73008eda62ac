import Commands
import Postgres
import Settings
import Store

extension ToolCommand {
    static let rebuild = ToolCommand(
        "rebuild",
        "Recomputes facts from what Apple signed, and owners and entitlements from the facts, "
            + "and lists each row that differs; none should.\n\n"
            + "Facts are read from the payloads in the table revisions as verify-worker reads "
            + "them; a difference names columns, and no value. Owners follow from the facts, "
            + "the links and link-worker's rules, entitlements from the facts, the owners and "
            + "the catalog. Runs beside the workers: each purchase is compared under the "
            + "workers' locks. Nothing is written unless --replace is given; then facts, "
            + "owners and entitlements are written together. A payload that is missing or was "
            + "edited, or a fact that is gone and of which nobody knows who vouched for it, "
            + "cannot be replaced: its line says what to do, and where a fact is gone the "
            + "entitlements of its purchase are kept. After a change of the settings of "
            + "linking, owners differ until they are replaced here or by 'link reapply'. Exit "
            + "code 1 when there was a difference.",
        options: [
            CommandOption("replace", "Write what was signed, and what follows from it."), .postgres, .config, .json,
        ]
    ) { context in
        let settings = try context.settings(.database)
        var progress = ProgressLine(console: context.console)
        let report = try await settings.withDatabaseClient { client in
            let rebuilding = try await Rebuilding(client: client, isReplacing: context.arguments.isSet("replace"))
            let total = try await rebuilding.purchaseCount()
            progress.show("comparing", done: 0, of: total, "purchase")
            return try await rebuilding.run { differences, count in
                if !differences.lines.isEmpty { progress.clear() }
                if context.isJSON {
                    differences.jsonLines.forEach { context.console.print(json: $0) }
                } else {
                    differences.lines.forEach { context.console.print($0) }
                }
                progress.show("comparing", done: count, of: total, "purchase")
            }
        }
        progress.clear()
        context.print(report.json, or: report.line)
        let isAsExpected = report.differenceCount == 0 && report.refusedCount == 0
        return ExitCode.answer(isAsExpected)
    }
}
