import AppStore
import DeadLetters
import HTTP
import Records
import Store

/// A page with everything known about one dead letter, as `dead-letter show` prints it.
struct LetterPage: Sendable {
    let sources: ConsoleSources

    static let unknown = Page.notice(
        "Not indexed", status: 404,
        "The index knows no dead letter of this ID. It may be newer than the index: see 'dead-letter index'.")

    /// Maximum actions that are read: enough that no redaction is missed.
    private static let historyMax = 10_000
    private static let historyShown = 200

    /// A letter with its original, or the reason why that could not be read.
    private struct Contents {
        let row: DeadLetterRow
        let history: [DeadLetterAction]
        var whole: LetterDossier?
        var problem: String
        /// The mismatch of the letter in the topic and its link.
        ///
        /// `nil` if none was found.
        var doubt: String?
        let standing: IndexStanding
    }

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        guard let contents = try await contents(request.parameters[0]) else { return .page(Self.unknown) }
        return .page(page(request, contents, isRevealing: false))
    }

    /// Records who reveals the letter and why, and then shows it whole.
    func reveal(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let why = request.field("why") ?? ""
        guard (1...2000).contains(why.utf8.count) else {
            return .notice(
                "Not revealed", status: 400, "Say why, in at most 2,000 bytes: it is recorded beside your name.")
        }
        guard let contents = try await contents(request.parameters[0]) else { return .page(Self.unknown) }
        let action = NewDeadLetterAction(
            who: request.visitor.name.auditor, kind: .revealed, why: why, deadLetterID: contents.row.id)
        try await DeadLetterActionTable.append([action], on: sources.database)
        return .page(page(request, contents, isRevealing: true))
    }

    private static let redacted = "The original was redacted: its position and its link are kept."

    private func contents(_ id: String) async throws -> Contents? {
        let rows = try await DeadLetterTable.get([id], on: sources.database)
        guard let row = rows.first(where: { $0.id == id }) else { return nil }
        let history = try await DeadLetterActionTable.history(of: id, limit: Self.historyMax, on: sources.database)
        let position = row.position(in: sources.topic.name)
        // Beside each other, as a broker that is down keeps both waiting.
        async let read = sources.topic.read(at: position)
        var contents = Contents(
            row: row, history: history, problem: Self.redacted, standing: try await sources.standing())
        // The topic may still hold an earlier copy.
        guard !history.contains(where: { $0.kind == .redacted }) else { return contents }
        do {
            let found = try await read
            guard let found, found.letter.id == id else {
                contents.problem = "It is no longer at \(position): retention may have removed it."
                return contents
            }
            guard found.letter.value != .redacted else { return contents }
            contents.whole = LetterDossier(found.letter, DeadLetterOriginal(found.record))
            contents.doubt = ChainLetter(found.letter, found.record)?.problem?.text
        } catch { contents.problem = "Kafka did not return it: \(error)" }
        return contents
    }

    private func page(_ request: ConsoleRequest, _ contents: Contents, isRevealing: Bool) -> Page {
        let row = contents.row
        return Page("Letter \(row.id.prefix(12))", section: nil) { html in
            html.element("h1") { html in
                html.text("Dead letter ")
                html.element("span", [.class("mono"), HTML.Attribute("data-copy", "ID")]) {
                    $0.foreign(row.id, bytesMax: 64)
                }
            }
            if request.argument("done") != nil { html.notice("Recorded.", .done) }
            if isRevealing {
                html.notice("Tokens, receipts and personal data are shown. It is recorded that you looked.", .note)
            }
            html.standing(contents.standing)
            if let warning = row.warning ?? contents.doubt {
                html.notice("Do not rely on this letter: \(warning).", .alert)
            }
            html.element("p", [.class("lead")]) { html in
                html.reason(row.reason)
                html.text(" ")
                html.tag(row.deadLetterClass)
                html.text(" ")
                html.tag(row.state.rawValue)
            }
            html.element("div", [.class("columns")]) { html in
                html.element("div") { html in
                    explanation(&html, row)
                    LetterFacts.write(row, to: &html)
                    LetterCertificates(row, contents.whole).write(to: &html)
                    original(&html, contents, isRevealing: isRevealing)
                }
                html.element("div") { html in aside(&html, request, contents, isRevealing: isRevealing) }
            }
        }
    }

    private func explanation(_ html: inout HTML, _ row: DeadLetterRow) {
        html.card("Why it was refused") { html in
            if let reason = RefusalReason(rawValue: row.reason) {
                let guide = RefusalGuide(reason)
                html.element("p") { html in
                    html.element("b", text: "The rule: ")
                    html.text(guide.rule)
                }
                html.element("p") { html in
                    html.element("b", text: "What to do: ")
                    html.text(guide.advice)
                }
            }
            html.element("p") { html in
                html.element("b", text: "Here: ")
                html.foreign(row.detail.isEmpty ? "no detail" : row.detail)
            }
        }
    }

    private func original(_ html: inout HTML, _ contents: Contents, isRevealing: Bool) {
        guard let dossier = contents.whole else {
            html.element("h2", text: "The original")
            html.notice(contents.problem, .alert)
            return
        }
        OriginalContents(original: dossier.rendering(isRevealing: isRevealing), isRevealing: isRevealing).write(
            to: &html)
    }

    private func aside(_ html: inout HTML, _ request: ConsoleRequest, _ contents: Contents, isRevealing: Bool) {
        let row = contents.row
        if request.visitor.role >= .operator {
            html.card("Decide") { html in
                DecisionForms.ofOne(&html, id: row.id, state: row.state, token: request.formToken)
                let link = LocalLink("replays", "new", query: [HTTPItem("id", row.id)])
                html.element("p", [.class("hint")]) { html in
                    html.text("Or ")
                    html.link("replay it", to: link)
                    html.text(", after a dry run.")
                }
            }
        }
        if request.visitor.role >= .investigator, !isRevealing {
            html.card("Reveal") { html in
                html.form(LocalLink("letters", row.id, "reveal"), request.formToken) { html in
                    let hint = "Recorded with your name before anything is shown."
                    html.sentenceField("Why", "why", hint: hint)
                    html.element("button", text: "Show tokens and personal data")
                }
            }
        }
        html.element("h2", text: "History")
        guard !contents.history.isEmpty else {
            html.element("p", [.class("soft")], text: "Nobody has done anything about it.")
            return
        }
        let shown = Array(contents.history.prefix(Self.historyShown))
        let runs = ActionRun.runs(of: shown)
        html.actions(runs, caption: "The last first", withLetters: false)
    }
}
