import DeadLetters
import HTTP
import JSON
import Commands
import Store

/// The forms by which operators decide on dead letters.
enum DecisionForms {
    static let kinds: [(kind: DeadLetterAction.Kind, label: String)] = [
        (.resolved, "Resolve: dealt with"), (.suppressed, "Suppress: no action is needed"),
        (.reopened, "Reopen: action is needed"),
    ]

    static func ofOne(_ html: inout HTML, id: String, state: DeadLetterState, token: String) {
        html.form(LocalLink("letters", id, "state"), token) { html in
            let current: DeadLetterAction.Kind? =
                switch state {
                case .open: .reopened
                case .resolved: .resolved
                case .suppressed: .suppressed
                case .replayed: nil
                }
            kindAndNote(&html, kinds.filter { $0.kind != current })
        }
    }

    /// The form for all letters of a filter.
    static func ofMany(_ html: inout HTML, _ filter: LetterFilter, count: Int64, token: String) {
        html.element("h2", text: "All \(Quantity.grouped(count)) results")
        html.element("div", [.class("cards")]) { html in
            html.element("div", [.class("card")]) { html in
                html.element("h3", text: "Replay")
                html.element(
                    "p",
                    text: "First a dry run shows what would be sent, and what today's verifier "
                        + "says about each letter. Nothing is sent before you confirm.")
                dryRun(&html, filter)
            }
            html.element("div", [.class("card")]) { html in
                html.element("h3", text: "Decide")
                let hidden: KeyValuePairs = ["filter": HTTPForm.encoded(filter.items)]
                html.form(LocalLink("decisions"), token, hidden: hidden) { html in kindAndNote(&html, kinds) }
            }
        }
    }

    /// The forms for a dry run of a group's open letters and for their resolution, at the top of the group's page.
    static func ofGroup(_ html: inout HTML, _ filter: LetterFilter, count: Int64, token: String) {
        html.element("section", [.class("card group-actions"), .label("What to do")]) { html in
            html.element("div") { html in
                dryRun(&html, filter)
                html.element("p", [.class("hint")], text: "What a replay would send, and what today's verifier says.")
            }
            let hidden: KeyValuePairs = ["filter": HTTPForm.encoded(filter.items), "kind": "resolved"]
            html.form(LocalLink("decisions"), token, hidden: hidden) { html in
                note(&html, id: "resolution-note")
                html.element("button", text: "Resolve \(Quantity.grouped(count))")
            }
        }
    }

    private static func dryRun(_ html: inout HTML, _ filter: LetterFilter) {
        let link = LocalLink("replays", "new", query: filter.items)
        html.link("Dry run", to: link, class: "button")
    }

    /// Shows the effect of a decision about many letters, and asks for confirmation.
    static func confirmation(
        _ kind: DeadLetterAction.Kind, note: String, of filter: LetterFilter, count: Int64, token: String
    ) -> Page {
        Page("Confirm", section: .search) { html in
            let letters = Quantity.counted(count, "dead letter")
            html.element("h1", text: "\(letters) would be \(kind.rawValue)")
            html.element("p", [.class("lead")], text: "Nothing is changed yet.")
            html.element("p") { html in
                html.text("Filter: ")
                html.element("a", [.href(filter.link)]) { html in html.foreign(filter.query.words, bytesMax: 500) }
            }
            html.facts(["note": note])
            guard count > 0 else { return }
            let hidden: KeyValuePairs = [
                "filter": HTTPForm.encoded(filter.fixedItems), "kind": kind.rawValue, "note": note,
                "confirmed": String(count),
            ]
            html.form(LocalLink("decisions"), token, hidden: hidden) { html in
                let label = "Yes: \(letters) \(kind.rawValue)"
                html.element("button", [.class("primary")], text: label)
            }
        }
    }

    private static func kindAndNote(_ html: inout HTML, _ kinds: [(kind: DeadLetterAction.Kind, label: String)]) {
        html.element("div", [.class("field")]) { html in
            html.element("label", [HTML.Attribute("for", "decision-kind")], text: "Decision")
            html.element("select", [.id("decision-kind"), .name("kind")]) { html in
                for (kind, label) in kinds { html.element("option", [.value(kind.rawValue)], text: label) }
            }
        }
        note(&html, id: "decision-note")
        html.element("button", text: "Record")
    }

    private static func note(_ html: inout HTML, id: String) {
        let hint = "The reason, which the history keeps forever."
        html.sentenceField("Note", "note", id: id, hint: hint)
    }
}

/// Performs the forms of `DecisionForms`.
struct Decisions: Sendable {
    let sources: ConsoleSources

    private static let decideDeadline = Duration.seconds(120)

    /// The posted decision.
    ///
    /// `nil` if a field of the form is missing or invalid.
    private func decision(_ request: ConsoleRequest) -> (kind: DeadLetterAction.Kind, note: String)? {
        let kind = request.field("kind").flatMap { DeadLetterAction.Kind(rawValue: $0) }
        guard let kind, DecisionForms.kinds.contains(where: { $0.kind == kind }), let note = request.field("note"),
            (1...2000).contains(note.utf8.count)
        else { return nil }
        return (kind, note)
    }

    private static let incomplete = Page.notice(
        "Not complete", status: 400, "A decision and a note of at most 2,000 bytes are needed. Nothing was changed.")

    /// Records a decision about one letter, and shows the letter.
    func ofOne(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let id = request.parameters[0]
        guard let decision = decision(request) else { return .page(Self.incomplete) }
        guard try await !DeadLetterTable.get([id], on: sources.database).isEmpty else {
            return .page(LetterPage.unknown)
        }
        let action = NewDeadLetterAction(
            who: request.visitor.name.auditor, kind: decision.kind, why: decision.note, deadLetterID: id)
        try await DeadLetterActionTable.append([action], on: sources.database)
        return .redirect(LocalLink("letters", id, query: [HTTPItem("done", "1")]))
    }

    /// Shows the effect of a decision about all letters of a filter, and performs it once
    /// confirmed.
    func ofMany(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let items = HTTPForm.items(Array((request.field("filter") ?? "").utf8))
        let filter = LetterFilter(items, now: sources.now())
        guard let decision = decision(request), filter.problems.isEmpty, filter.text == nil, !filter.items.isEmpty
        else { return .page(Self.incomplete) }
        guard let confirmed = request.field("confirmed") else {
            return .page(
                DecisionForms.confirmation(
                    decision.kind, note: decision.note, of: filter,
                    count: try await DeadLetterCounts.count(filter.query, on: sources.database),
                    token: request.formToken))
        }
        let expected = Int64(confirmed) ?? -1
        let (found, changed) = try await DeadLetterActionTable.decide(
            decision.kind, filter.query, who: request.visitor.name.auditor, why: decision.note, expecting: expected,
            deadline: Self.decideDeadline, on: sources.database)
        guard found == expected else {
            return .notice(
                "Changed in the meantime", status: 409,
                "The filter now matches \(Quantity.counted(found, "dead letter")). Nothing was changed: "
                    + "look at them again.")
        }
        let done = HTTPItem("done", String(changed))
        // Returns to the group's page if the form came from there.
        if let group = filter.items.value("group"), filter.items.value("state") == "open", filter.items.count == 2 {
            return .redirect(LocalLink("groups", group, query: [done]))
        }
        return .redirect(LocalLink("search", query: filter.items + [done]))
    }
}
