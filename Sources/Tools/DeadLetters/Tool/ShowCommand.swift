import Commands
import Kafka
import Postgres
import Records
import Settings
import Store

enum ShowCommand: DeadLetterCommand {
    static let name = "show"
    static let role = DatabaseRole.investigator
    static let summary =
        "Shows one dead letter whole, with the original's headers, key and value, header and "
        + "payload of each JWS and receipt in it, decoded and unverified, the rule that "
        + "refused it, its certificates and what is wrong with them, its state and its "
        + "history. Of the original only members and headers are shown that are known to "
        + "be harmless, and the size of everything else, unless --reveal asks for it, "
        + "which is recorded in the history first, with --why. For a letter that topic and index have "
        + "no more, its whole ID still shows the history."
    static let operands = "ID|TOPIC/PARTITION/OFFSET"
    static let operandCount = 1...1
    static let options: [CommandOption] = [
        CommandOption(
            "original",
            "Print the original's value alone, byte for byte, as 'pipeline publish --whole'"
                + " takes it; to a file or a pipe. Counts as --reveal."),
        CommandOption("reveal", "Show what is hidden too; JSON then holds the original whole."),
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
            redactions: try await context.redactions())
        let found = try await finder.find()
        switch found {
        case .none:
            try await LetterRemains.show(of: wanted, context)
            return ExitCode.negative
        case .several(let lines, let isMore):
            let more = isMore ? "\n  and more" : ""
            let ids = lines.map { "\n  " + Printable.line($0) }
            context.console.note("several dead letters match:" + ids.joined() + more)
            return ExitCode.negative
        case .indexed(let row):
            ListCommand.print([row], context)
            context.console.note("the letter itself is not in the topic any more; this is what the index holds")
            return ExitCode.negative
        case .one(let dossier): return try await show(dossier, context)
        }
    }

    private static func show(_ found: LetterDossier, _ context: ToolContext) async throws -> Int32 {
        let isOriginal = context.arguments.isSet("original")
        let isRevealing = context.arguments.isSet("reveal")
        var dossier = found
        if context.client != nil { try await dossier.addHistory(from: try await context.database()) }
        if isOriginal, let problem = unwritable(dossier) {
            context.console.note(problem)
            return ExitCode.negative
        }
        if isOriginal || isRevealing {
            let detail = isOriginal ? "the original" : nil
            try await context.record(.revealed, of: dossier.letter.id, detail: detail)
        }
        if isOriginal { return write(dossier, context) }
        if context.isJSON {
            context.console.print(json: dossier.json(isRevealing: isRevealing))
            return ExitCode.success
        }
        let original = dossier.rendering(isRevealing: isRevealing)
        context.console.note(
            isRevealing
                ? "The original may hold tokens and personal data."
                : "Shown is what is known to be harmless; --reveal shows the rest.")
        if let doubt = dossier.doubt { context.console.print(text: "DOUBTFUL: \(Printable.line(doubt))\n\n") }
        context.console.print(
            text: DeadLetterText.whole(dossier.letter, original) + DeadLetterText.decoded(original) + dossier.text)
        return ExitCode.success
    }

    private static func unwritable(_ dossier: LetterDossier) -> String? {
        guard !dossier.isRedacted else { return "the original was redacted" }
        guard dossier.letter.value == .original else {
            return "the value was left out for its size: it lies in \(dossier.letter.source)"
        }
        return dossier.original.value == nil ? "the original's value is null" : nil
    }

    /// Writes the value and nothing else.
    private static func write(_ dossier: LetterDossier, _ context: ToolContext) -> Int32 {
        let isForced = context.arguments.isSet("force")
        guard context.console.write(bytes: dossier.original.value ?? [], isForced: isForced) else {
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
        /// A letter that the index knows, and that is no longer in the topic.
        case indexed(DeadLetterRow)
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
    /// The letters with a recorded redaction; nil if no database was asked.
    let redactions: Set<String>?

    func find() async throws -> Result {
        guard let index else { return try await inTopic() }
        let limit = Self.foundMax
        let rows = try await DeadLetterTable.search(wanted, limit: limit, on: index).filter { row in
            position != nil || row.id.hasPrefix(wanted.lowercased())
        }
        guard let row = rows.first else {
            // The index may be behind.
            return try await inTopic()
        }
        guard rows.count == 1 else {
            let lines = rows.map { "\($0.id) \($0.source.position)" }
            return .several(lines, isMore: rows.count == limit)
        }
        guard let found = try await topic.read(at: row.position(in: topic.name)), found.letter.id == row.id else {
            return .indexed(row)
        }
        return .one(
            LetterDossier(
                found.letter, DeadLetterOriginal(found.record),
                doubt: row.warning ?? Self.doubt(found.letter, found.record)))
    }

    /// The mismatch of the stored letter and its link.
    ///
    /// `nil` if they match.
    private static func doubt(_ letter: DeadLetter, _ record: ConsumerRecord) -> String? {
        guard let link = ChainLetter(letter, record) else { return ChainLetter.unchainedText }
        return link.problem?.text
    }

    private func inTopic() async throws -> Result {
        var found: [String: (row: DeadLetterRow, dossier: LetterDossier)] = [:]
        var redacted: [String: DeadLetter] = [:]
        var isMore = false
        _ = try await topic.read { letter, record in
            if letter.value == .redacted, redactions?.contains(letter.id) ?? true { redacted[letter.id] = letter }
            guard matches(letter) else { return }
            var row = DeadLetterRow(letter, record)
            row.checkRedaction(redactions)
            if let former = found[letter.id], former.row.counts(before: row) { return }
            guard found[letter.id] != nil || found.count < Self.foundMax else {
                isMore = true
                return
            }
            let doubt = row.doubt ?? Self.doubt(letter, record)
            found[letter.id] = (row, LetterDossier(letter, DeadLetterOriginal(record), doubt: doubt))
        }
        guard let dossier = found.values.first?.dossier else { return .none }
        guard found.count == 1 else {
            return .several(found.values.map { "\($0.row.id) \($0.row.source.position)" }.sorted(), isMore: isMore)
        }
        // The auditor may have asked for an earlier copy by its position. If it is unknown whether
        // the redaction is genuine, the original stays hidden.
        if let redaction = redacted[dossier.letter.id] {
            return .one(LetterDossier(redaction, .removed, doubt: dossier.doubt))
        }
        return .one(dossier)
    }

    private func matches(_ letter: DeadLetter) -> Bool {
        if let position { return [letter.source, letter.position, letter.raw].contains(position) }
        return letter.id.hasPrefix(wanted.lowercased())
    }
}
