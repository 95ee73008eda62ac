import Commands
import JSON
import Kafka
import Postgres
import Records
import Settings
import Store

enum ShowCommand: DeadLetterCommand {
    static let name = "show"
    static let role = DatabaseRole.investigator
    static let summary =
        "Shows one dead letter: the rule that refused it, its certificates and what is wrong "
        + "with them, its state, its history, and the original's headers, key and value, with "
        + "each JWS and receipt in it decoded and unverified. Of the original, only members "
        + "and headers that are known to be harmless are shown, and the size of everything "
        + "else. --reveal shows everything, with --why, and is recorded in the history first. "
        + "For a letter that topic and index no longer hold, its whole ID still shows the history."
    static let operands = "ID|TOPIC/PARTITION/OFFSET"
    static let operandCount = 1...1
    static let options: [CommandOption] = [
        CommandOption(
            "original",
            "Print the original's value alone, byte for byte, as 'pipeline publish --whole'"
                + " takes it; to a file or a pipe. Counts as --reveal."),
        CommandOption("reveal", "Show what is hidden too; JSON then holds the whole original."),
        CommandOption(
            "force", short: "f", "Print the original to a terminal too, which may interpret control sequences."),
        CommandOption("why", argument: "TEXT", "Why it is revealed, for the history."), ToolContext.auditorOption,
        ToolContext.fromTopic,
    ]

    private static let idDigitsMin = 6

    static func run(_ context: ToolContext) async throws -> Int32 {
        let wanted = context.arguments.operands[0]
        if context.arguments.isSet("original") || context.arguments.isSet("reveal") { _ = try context.reason() }
        let position = RecordPosition(wanted)
        guard position != nil || wanted.count >= idDigitsMin else {
            throw UsageError(
                "expected an ID, at least \(idDigitsMin) of its digits, or TOPIC/PARTITION/OFFSET "
                    + "of the original or of the dead letter; found \"\(wanted)\"")
        }
        let finder = LetterFinder(
            wanted: wanted, position: position, topic: context.topic, index: try await context.index(),
            client: context.client == nil ? nil : try await context.database(),
            redactions: try await context.redactions())
        switch try await finder.find() {
        case .none:
            context.console.note("no dead letter \(wanted)")
            return ExitCode.negative
        case .several(let lines, let isMore):
            let more = isMore ? "\n  and more" : ""
            let ids = lines.map { "\n  " + Printable.line($0) }
            context.console.note("several dead letters match:" + ids.joined() + more)
            return ExitCode.negative
        case .gone(let dossier):
            context.console.note("the letter itself is not in the topic any more; this is what the database holds")
            print(dossier, isRevealing: false, context)
            return ExitCode.negative
        case .one(let dossier): return try await show(dossier, context)
        }
    }

    private static func show(_ dossier: LetterDossier, _ context: ToolContext) async throws -> Int32 {
        let isOriginal = context.arguments.isSet("original")
        let isRevealing = context.arguments.isSet("reveal")
        if isOriginal, let problem = unwritable(dossier) {
            context.console.note(problem)
            return ExitCode.negative
        }
        if isOriginal || isRevealing {
            let detail = isOriginal ? "the original" : nil
            try await context.record(.revealed, of: dossier.facts["id"].text, detail: detail)
        }
        if isOriginal { return write(dossier, context) }
        if !context.isJSON {
            context.console.note(
                isRevealing
                    ? "The original may hold tokens and personal data."
                    : "Only what is known to be harmless is shown; --reveal shows the rest.")
        }
        print(dossier, isRevealing: isRevealing, context)
        return ExitCode.success
    }

    private static func print(_ dossier: LetterDossier, isRevealing: Bool, _ context: ToolContext) {
        context.isJSON
            ? context.console.print(json: dossier.json(isRevealing: isRevealing))
            : context.console.print(text: dossier.text(isRevealing: isRevealing))
    }

    private static func unwritable(_ dossier: LetterDossier) -> String? {
        guard !dossier.isRedacted else { return "the original was redacted" }
        guard dossier.facts["value"].text == DeadLetterValue.original.rawValue else {
            return "the value was left out for its size: it lies in \(dossier.facts["source"].text ?? "its topic")"
        }
        return dossier.original?.value == nil ? "the original's value is null" : nil
    }

    /// Writes the original's value and nothing else.
    private static func write(_ dossier: LetterDossier, _ context: ToolContext) -> Int32 {
        let isForced = context.arguments.isSet("force")
        guard context.console.write(bytes: dossier.original?.value ?? [], isForced: isForced) else {
            context.console.note(
                "not printed: the original may hold terminal control sequences; send it "
                    + "to a file or a pipe, or add --force")
            return ExitCode.negative
        }
        return ExitCode.success
    }
}

/// Finds one letter by what an auditor types: in the index, or in the topic itself.
struct LetterFinder {
    enum Result {
        case none
        case one(LetterDossier)
        /// A letter that is no longer in the topic.
        case gone(LetterDossier)
        case several([String], isMore: Bool)
    }

    private static let foundMax = 20

    let wanted: String
    /// The position that `wanted` names.
    ///
    /// `nil` if `wanted` is an ID.
    let position: RecordPosition?
    let topic: DeadLetterTopic
    let index: PostgresClient?
    /// The database with the actions on letters.
    ///
    /// `nil` if none is configured.
    let client: PostgresClient?
    /// IDs of the letters with a recorded redaction.
    ///
    /// `nil` if no database was asked.
    let redactions: Set<String>?

    func find() async throws -> Result {
        if let index, let found = try await indexed(in: index) { return found }
        // The index may not have read the letter yet.
        let found = try await inTopic()
        guard case .none = found, let client, let answer = try await DeadLetterTable.answer(about: wanted, on: client)
        else { return found }
        return .gone(LetterDossier(answer, nil))
    }

    private func indexed(in index: PostgresClient) async throws -> Result? {
        let limit = Self.foundMax
        let rows = try await DeadLetterTable.search(wanted, limit: limit, on: index).filter { row in
            position != nil || row.id.hasPrefix(wanted.lowercased())
        }
        guard let row = rows.first else { return nil }
        guard rows.count == 1, let answer = try await DeadLetterTable.answer(about: row.id, on: index) else {
            let lines = rows.map { "\($0.id) \($0.source.position)" }
            return .several(lines, isMore: rows.count == limit)
        }
        let found = try await topic.read(at: row.position(in: topic.name))
        guard let found, found.letter.id == row.id else { return .gone(LetterDossier(answer, nil)) }
        return .one(LetterDossier(answer, found))
    }

    private func inTopic() async throws -> Result {
        var found: [String: (row: DeadLetterRow, held: DeadLetterTopic.Held)] = [:]
        var redacted: [String: DeadLetterTopic.Held] = [:]
        var isMore = false
        _ = try await topic.read { letter, record in
            if letter.value == .redacted, redactions?.contains(letter.id) ?? true {
                redacted[letter.id] = (letter, record)
            }
            guard matches(letter) else { return }
            var row = DeadLetterRow(letter, record)
            row.checkRedaction(redactions)
            if let former = found[letter.id], former.row.counts(before: row) { return }
            guard found[letter.id] != nil || found.count < Self.foundMax else {
                isMore = true
                return
            }
            found[letter.id] = (row, (letter, record))
        }
        guard let (row, held) = found.values.first else { return .none }
        guard found.count == 1 else {
            return .several(found.values.map { "\($0.row.id) \($0.row.source.position)" }.sorted(), isMore: isMore)
        }
        // A redaction also counts for an earlier copy, which the auditor may have asked for by its
        // position. If it is unknown whether the redaction is genuine, the original stays hidden.
        return .one(try await dossier(redacted[row.id] ?? held))
    }

    /// The dossier of a letter that the index may lack, with its actions from the database.
    private func dossier(_ held: DeadLetterTopic.Held) async throws -> LetterDossier {
        var row = DeadLetterRow(held.letter, held.record)
        row.checkRedaction(redactions)
        var done: JSONContent = [:]
        if let client {
            done =
                try await DeadLetterTable.answer(about: row.id, on: client) ?? [
                    "state": DeadLetterState.open.rawValue, "is_redacted": false, "history": [String](),
                ]
        }
        let facts = row.json(topic: topic.name).without("state")
        return LetterDossier(facts + done.only("state", "outcome", "is_redacted", "history"), held)
    }

    private func matches(_ letter: DeadLetter) -> Bool {
        if let position { return [letter.source, letter.position, letter.raw].contains(position) }
        return letter.id.hasPrefix(wanted.lowercased())
    }
}
