import AppStore
import DeadLetters
import HTTP
import JSON
import Records
import Commands
import Settings
import Store

/// A page with everything known about one dead letter, as `dead-letter show` prints it.
struct LetterPage: Sendable {
    let sources: ConsoleSources

    static let unknown = Page.notice(
        "Not indexed", status: 404,
        "The index has no dead letter with this ID. The letter may be newer than the index: see 'dead-letter index'.")

    private static let historyShown = 200

    /// A letter, the message to show if its original could not be read, and the index's progress.
    private struct Contents {
        let dossier: LetterDossier
        let problem: String
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
            who: request.visitor.name.auditor, kind: .revealed, why: why, deadLetterID: request.parameters[0])
        try await DeadLetterActionTable.append([action], on: sources.database)
        return .page(page(request, contents, isRevealing: true))
    }

    private func contents(_ id: String) async throws -> Contents? {
        guard let answer = try await DeadLetterTable.answer(about: id, on: sources.database), answer["id"].text == id,
            let position = answer["position"].text.flatMap({ RecordPosition($0) })
        else { return nil }
        // Both run at the same time, because each waits if a broker is down.
        async let read = sources.topic.read(at: position)
        let standing = try await sources.standing()
        var held: DeadLetterTopic.Held?
        var problem = "It is no longer at \(position): retention may have removed it."
        do { held = try await read } catch { problem = "Kafka did not return it: \(error)" }
        if held?.letter.id != id { held = nil }
        let dossier = LetterDossier(answer, held)
        if dossier.isRedacted { problem = "The original was redacted: its position and its link are kept." }
        return Contents(dossier: dossier, problem: problem, standing: standing)
    }

    private func page(_ request: ConsoleRequest, _ contents: Contents, isRevealing: Bool) -> Page {
        let letter = contents.dossier.json(isRevealing: isRevealing)
        let id = request.parameters[0]
        return Page("Letter \(id.prefix(12))", section: nil) { html in
            html.element("h1") { html in
                html.text("Dead letter ")
                html.element("span", [.class("mono"), HTML.Attribute("data-copy", "ID")]) {
                    $0.foreign(id, bytesMax: 64)
                }
            }
            if request.argument("done") != nil { html.notice("Recorded.", .done) }
            if isRevealing {
                html.notice("Tokens, receipts and personal data are shown. It is recorded that you looked.", .note)
            }
            html.standing(contents.standing)
            if let doubt = letter["doubt"].text { html.notice("Do not rely on this letter: \(doubt).", .alert) }
            html.element("p", [.class("lead")]) { html in
                for name in ["reason", "class", "state"] {
                    html.value(name, letter[name])
                    html.text(" ")
                }
            }
            html.element("div", [.class("columns")]) { html in
                html.element("div") { html in
                    html.card("Why it was refused") { $0.facts(letter.only("rule", "advice", "detail")) }
                    facts(&html, letter)
                    certificates(&html, letter)
                    original(&html, letter, problem: contents.problem, isRevealing: isRevealing)
                }
                html.element("div") { html in aside(&html, request, letter: letter, isRevealing: isRevealing) }
            }
        }
    }

    private func facts(_ html: inout HTML, _ letter: JSONContent) {
        html.element("h2", text: "Facts")
        html.facts(
            letter.without(
                "id", "reason", "class", "state", "doubt", "rule", "advice", "detail", "unverified", "chain",
                "certificates", "history", "shown", "decoded", "original"))
        html.element("h2", text: "What the original says of itself")
        html.element("p", [.class("hint")], text: "Only for search: these values are not verified.")
        html.facts(letter["unverified"])
    }

    private func certificates(_ html: inout HTML, _ letter: JSONContent) {
        let chains = letter["certificates"].elements
        if chains.isEmpty, !letter["chain"].members.isEmpty {
            html.element("h2", text: "Certificates")
            html.element("p", [.class("hint")], text: "The chain as received, valid or not.")
            html.facts(letter["chain"])
        }
        for chain in chains {
            html.element("h2") { html in
                html.text("Certificates of ")
                html.value("paths", chain["paths"])
            }
            html.element("p", [.class("hint")], text: "As the original has them, unverified.")
            for name in ["wrong", "also_wrong"] where !chain[name].isNull { html.value(name, chain[name]) }
            for certificate in chain["chain"].elements {
                html.element("h3") { $0.value("role", certificate["role"]) }
                html.facts(certificate.without("role"))
            }
        }
    }

    private func original(_ html: inout HTML, _ letter: JSONContent, problem: String, isRevealing: Bool) {
        let shown = letter["shown"]
        guard !shown.isNull else {
            html.element("h2", text: "The original")
            return html.notice(problem, .alert)
        }
        html.element("h2", text: "The original's headers")
        if !isRevealing {
            html.element(
                "p", [.class("hint")],
                text: "Only what is known to be harmless is shown, and the size of everything else.")
        }
        let headers = shown["headers"].elements
        if !headers.isEmpty {
            html.table(
                Quantity.counted(headers.count, "header"), headers, columns: Self.columns("name", "value", "bytes"),
                by: "name")
        }
        if let note = shown["more_headers"].text ?? (headers.isEmpty ? "None." : nil) {
            html.element("p", [.class("cut")], text: note)
        }
        for part in ["key", "value"] {
            html.element("h2", text: "The original's \(part)")
            html.element("p", [.class("hint")], text: shown[part]["note"].text ?? "")
            if let text = shown[part]["text"].text { html.block(text, label: "The \(part)'s bytes") }
        }
        let parts = letter["decoded"].elements
        if !parts.isEmpty { html.element("h2", text: "Decoded, unverified") }
        for (index, part) in parts.enumerated() {
            html.element("h3") { $0.value("path", part["path"]) }
            if let problem = part["problem"].text {
                html.element("p", [.class("soft")], text: "Not decoded: \(problem)")
            }
            for name in ["header", "payload"] where !part[name].isNull {
                html.block(String(decoding: part[name].bytes, as: UTF8.self), label: "The \(name) \(index + 1)")
            }
        }
    }

    /// Columns with these members of an answer's objects.
    private static func columns(_ names: String...) -> [ReportColumn<JSONContent>] {
        names.map { name in ReportColumn(name) { $0[name] } }
    }

    private func aside(_ html: inout HTML, _ request: ConsoleRequest, letter: JSONContent, isRevealing: Bool) {
        let id = request.parameters[0]
        if request.visitor.role >= .operator, let state = letter["state"].text.flatMap(DeadLetterState.init) {
            html.card("Decide") { html in
                DecisionForms.ofOne(&html, id: id, state: state, token: request.formToken)
                let link = LocalLink("replays", "new", query: [HTTPItem("id", id)])
                html.element("p", [.class("hint")]) { html in
                    html.text("Or ")
                    html.link("replay it", to: link)
                    html.text(", after a dry run.")
                }
            }
        }
        if request.visitor.role >= .investigator, !isRevealing {
            html.card("Reveal") { html in
                html.form(LocalLink("letters", id, "reveal"), request.formToken) { html in
                    let hint = "Recorded with your name before anything is shown."
                    html.sentenceField("Why", "why", hint: hint)
                    html.element("button", text: "Show tokens and personal data")
                }
            }
        }
        html.element("h2", text: "History")
        let history = letter["history"].elements.prefix(Self.historyShown)
        guard !history.isEmpty else {
            html.element("p", [.class("soft")], text: "Nobody has done anything about it.")
            return
        }
        html.table(
            "Actions, the newest first", history,
            columns: Self.columns("at", "who", "action", "replay", "why", "detail"))
    }
}
