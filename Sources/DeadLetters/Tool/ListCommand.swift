import AppStore
import Records
import Settings

/// `dead-letter list`: one line for each, the newest first, nothing of the originals' content.
enum ListCommand: DeadLetterCommand {
    static let name = "list"

    static var syntax: CommandSyntax {
        syntax(
            "Lists dead letters, the newest first, each once however often it was repeated.",
            options: FilterOptions.options + [
                CommandOption(
                    "limit",
                    short: "n",
                    argument: "N",
                    "Maximum number of letters; 50 by default."
                )
            ]
        )
    }

    private static let limitDefault = 50

    static func run(_ context: ToolContext) async throws -> Int32 {
        let filter = try FilterOptions.filter(context.arguments, now: context.now)
        let limit = try context.arguments.value("limit", as: .int(1...100_000)) ?? limitDefault
        var fold = DeadLetterFold<Bool>()
        var newest = NewestLetters(limit: limit)
        let summary = try await context.topic.read(since: filter.since) { letter, _ in
            let matches = filter.matches(letter)
            guard case .latest(let replacing) = fold.add(letter, matches) else { return }
            if replacing == true {
                newest.remove(letter.id)
            }
            if matches {
                newest.insert(letter)
            }
        }
        let letters = newest.sorted
        if context.isJSON {
            for letter in letters {
                context.console.print(json: DeadLetterJSON.object(letter))
            }
        } else if !letters.isEmpty {
            table(letters).forEach { context.console.print($0) }
        }
        var note = "\(letters.count) of \(newest.count) dead letters"
        note += ", \(summary.records) records read"
        context.console.note(note + ReadingNotes.text(summary, fold))
        return ExitCode.success
    }

    private static func table(_ letters: [DeadLetter]) -> [String] {
        var rows = TextTable([
            .init("failed"), .init("stage"), .init("reason"), .init("transaction"),
            .init("bundle"), .init("source"), .init("id"),
        ])
        for letter in letters {
            rows.add([
                letter.failedAt.description,
                Printable.line(letter.stage, lengthMax: 10),
                Printable.line(letter.reason, lengthMax: 40),
                cell(letter.identifiers.transactionID ?? letter.identifiers.originalTransactionID),
                cell(letter.identifiers.bundleID),
                Printable.line(letter.source.description, lengthMax: 80),
                Printable.line(letter.id, lengthMax: DeadLetterID.length),
            ])
        }
        return rows.lines()
    }

    private static func cell(_ text: String?) -> String {
        text.map { Printable.line($0, lengthMax: 32) } ?? "-"
    }
}
