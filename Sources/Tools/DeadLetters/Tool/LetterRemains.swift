import Commands
import JSON
import Postgres
import Store

/// The rest of a letter that neither the topic nor its index holds any more: its actions, which are
/// kept forever.
enum LetterRemains {
    /// Prints that there is no such letter, and its history if there is one.
    ///
    /// - Parameter wanted: the text that was asked for; a history is found by a whole ID.
    static func show(of wanted: String, _ context: ToolContext) async throws {
        context.console.note("no dead letter \(wanted)")
        guard context.client != nil else { return }
        let id = wanted.lowercased()
        let history = try await DeadLetterActionTable.history(
            of: id, limit: LetterDossier.historyMax, on: try await context.database())
        guard !history.isEmpty else { return }
        context.console.note("topic and index have it no more; this is what was done about it")
        guard !context.isJSON else {
            let remains: JSONContent = ["id": id, "history": history]
            return context.console.print(json: remains)
        }
        for action in history { context.console.print(LetterDossier.line(of: action)) }
    }
}
