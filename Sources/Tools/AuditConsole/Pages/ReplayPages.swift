import AppStore
import DeadLetters
import HTTP
import JSON
import Commands
import Store

/// Replays: the dry run, the progress and the outcome.
struct ReplayPages: Sendable {
    let sources: ConsoleSources
    let runs: ReplayRuns

    private static let replaysMax = 100
    private static let lettersShown = 200
    private static let recordsShown = 200

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "replays", for: .viewer, handler: list),
            ConsoleRoute(.get, "replays/new", for: .operator, handler: dryRun),
            ConsoleRoute(.get, "replays/*", for: .viewer, handler: one),
            ConsoleRoute(.post, "replays", for: .operator, handler: begin),
            ConsoleRoute(.post, "replays/*/continue", for: .operator, handler: resume),
            ConsoleRoute(.post, "replays/*/stop", for: .operator, handler: stop),
            ConsoleRoute(.post, "replays/*/abandon", for: .operator, handler: abandon),
        ]
    }

    private func list(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let rows = try await runs.replays.newest(limit: Self.replaysMax)
        let page = Page("Replays", section: .replays) { html in
            html.element("h1", text: "Replays")
            html.element(
                "p", [.class("lead")],
                text: "Dead letters that were sent again. To begin a replay, search for the letters and "
                    + "ask for a dry run.")
            guard !rows.isEmpty else {
                html.element("p", [.class("soft")], text: "Nothing was replayed yet.")
                return
            }
            html.live("replays") {
                $0.table("Replays, the newest first", rows, columns: ReplayRow.columns, by: "replay")
            }
        }
        return .page(page)
    }

    private func one(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        guard let number = Int64(request.parameters[0]), let row = try await runs.replays.replay(number) else {
            return .page(Self.unknown)
        }
        let records = try await runs.replays.records(of: number, limit: Self.recordsShown)
        let state = row.effectiveState
        let seconds = [.prepared, .running].contains(state) ? 2 : 10
        let title = "Replay \(number) \(state.rawValue)"
        let page = Page(title, section: .replays) { html in
            html.element("h1", text: "Replay \(number)")
            html.live("outcome", every: seconds, isAnnounced: true) { Self.outcome(&$0, row) }
            html.live("progress", every: seconds) { Self.progress(&$0, row) }
            if request.visitor.role >= .operator {
                html.live("controls", every: seconds) { controls(&$0, row, token: request.formToken) }
            }
            html.live("records", every: seconds) { html in
                html.element("h2", text: "Records")
                let caption = "\(Quantity.grouped(records.count)) of \(Quantity.grouped(row.count)) records"
                html.table(caption, records, columns: ReplayRecordRow.columns, by: "dead_letter_id")
            }
        }
        return .page(page)
    }

    private static let unknown = Page.notice("Not found", status: 404, "There is no replay of this number.")

    /// Writes the outcome of a replay that no longer runs.
    private static func outcome(_ html: inout HTML, _ row: ReplayRow) {
        let state = row.effectiveState
        guard ![.prepared, .running].contains(state) else { return }
        let isClean = state == .completed && row.counts.accepted == row.count
        let word = state == .completed ? "Finished" : "It is \(state.rawValue)"
        html.element("p", [.class(isClean ? "done" : "note")], text: "\(word): \(ReplayText.outcomes(row.counts)).")
        guard !row.note.isEmpty else { return }
        html.element("p", [.class("note")]) { $0.foreign(row.note, bytesMax: 1000) }
    }

    private static func progress(_ html: inout HTML, _ row: ReplayRow) {
        let counts = row.counts
        let decided = counts.accepted + counts.refused + counts.unsent + counts.unknown
        html.progress(decided, of: row.count, "decided")
        html.facts(JSONContent(row, ReplayRow.columns))
    }

    private func controls(_ html: inout HTML, _ row: ReplayRow, token: String) {
        let number = String(row.number)
        let isRunning = runs.isRunning(row.number)
        guard isRunning || (row.effectiveState != .completed && !row.isHeld) else { return }
        html.element("h2", text: "What to do")
        html.element("div", [.class("actions")]) { html in
            let action = isRunning ? "stop" : "continue"
            html.form(LocalLink("replays", number, action), token) { html in
                isRunning
                    ? html.element("button", text: "Stop after the records in flight")
                    : html.element("button", [.class("primary")], text: "Send the remaining records")
            }
        }
        guard !isRunning else { return }
        html.element("h3", text: "Or abandon it")
        html.form(LocalLink("replays", number, "abandon"), token) { html in
            let hint = "Another replay may then send what this one has not sent."
            html.sentenceField("Why", "why", hint: hint)
            html.element("button", text: "Abandon")
        }
    }
}

extension ReplayPages {
    /// The selection by the filter of a dry run or of its confirmation.
    ///
    /// `nil` if the filter is invalid or empty, or is a search text.
    private func selection(_ filter: LetterFilter) -> ReplaySelection? {
        guard filter.problems.isEmpty, filter.text == nil, !filter.items.isEmpty else { return nil }
        return ReplaySelection(filter.query, text: filter.query.words)
    }

    private static let nothingChosen = Page.notice(
        "Nothing chosen", status: 400,
        "Choose dead letters by a filter of the search page, or by an ID. Nothing was sent.")

    private func dryRun(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let filter = LetterFilter(request.http.queryItems, now: sources.now())
        guard let selection = selection(filter) else { return .page(Self.nothingChosen) }
        do {
            let plan = try await runs.replays.prepare(selection)
            return .page(planned(plan, filter, token: request.formToken))
        } catch let error as ReplayError { return .notice("No dry run", status: 409, error.description) }
    }

    private func planned(_ plan: ReplayPlan, _ filter: LetterFilter, token: String) -> Page {
        Page("Dry run", section: .replays) { html in
            html.element("h1", text: "Dry run")
            html.element("p", [.class("lead")]) { html in
                html.text("Nothing is sent yet. Filter: ")
                html.foreign(filter.query.words, bytesMax: 500)
                html.text(". ")
                html.link("Change the filter", to: filter.link)
            }
            if let note = plan.note { html.notice(note, .note) }
            html.facts(plan.json.without("filter", "note"))
            if plan.count > 0 {
                html.element("h2", text: "Send them")
                html.element("div", [.class("card")]) { html in
                    let hidden: KeyValuePairs = ["filter": HTTPForm.encoded(filter.items), "count": String(plan.count)]
                    html.form(LocalLink("replays"), token, hidden: hidden) { confirmation(&$0, plan) }
                }
            }
            guard plan.count > 0 else { return }
            html.element("h2", text: "The letters")
            let more = plan.count > Self.lettersShown ? "The first \(Self.lettersShown) of " : ""
            html.table(
                "\(more)\(Quantity.counted(plan.count, "dead letter")), the oldest first",
                plan.letters.prefix(Self.lettersShown), columns: ReplayPlan.columns, by: "id")
        }
    }

    private func confirmation(_ html: inout HTML, _ plan: ReplayPlan) {
        let limits = ReplayLimits()
        html.sentenceField("Why", "why", hint: "Recorded before the first record is sent.")
        html.element("div", [.class("filters")]) { html in
            html.field(
                "Records per second", id: "rate",
                [.type("number"), .name("rate"), .value(String(limits.rate))] + [
                    HTML.Attribute("min", "1"), HTML.Attribute("max", "10000"),
                ])
            html.field(
                "Stop above this percentage", id: "share",
                [
                    .type("number"), .name("share"), HTML.Attribute("min", "0"), HTML.Attribute("max", "100"),
                    .value(String(Int(limits.failingShareMax * 100))),
                ], hint: "The share of the last hundred records that is refused again.")
        }
        let all = "Send \(Quantity.grouped(plan.count)) records again"
        check(&html, all, name: "confirmed", value: String(plan.count))
        if plan.isHopeless {
            html.notice("Today's verifier refuses all of them.", .alert)
            let anyway = "Send them although they will be refused again"
            check(&html, anyway, name: "yes", value: "1")
        }
        html.element("button", [.class("primary")], text: "Begin the replay")
    }

    /// Writes a checkbox that is required.
    private func check(_ html: inout HTML, _ label: String, name: String, value: String) {
        html.element("p") { html in
            html.element("label", [.class("check")]) { html in
                let required = HTML.Attribute("required", nil)
                html.void("input", [.type("checkbox"), .name(name), .value(value), required])
                html.text(label)
            }
        }
    }

    private static let refusedByAll = Page.notice(
        "Not begun", status: 409,
        "Today's verifier refuses all of them. Nothing was sent: correct the settings first, or "
            + "confirm on the dry run that they are to be sent anyway.")

    /// Plans the replay again, because time has passed, and begins it if it has the confirmed number of letters.
    private func begin(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let items = HTTPForm.items(Array((request.field("filter") ?? "").utf8))
        let filter = LetterFilter(items, now: sources.now())
        guard let selection = selection(filter), let why = request.field("why"),
            let confirmed = request.field("confirmed").flatMap({ Int($0) }),
            let rate = request.field("rate").flatMap({ Int($0) }),
            let share = request.field("share").flatMap({ Int($0) })
        else { return .page(Self.nothingChosen) }
        var limits = ReplayLimits()
        limits.rate = rate
        limits.failingShareMax = Double(share) / 100
        do {
            let plan = try await runs.replays.prepare(selection)
            guard plan.count == confirmed else {
                return .notice(
                    "Changed in the meantime", status: 409,
                    "You confirmed \(Quantity.counted(confirmed, "dead letter")); now there are "
                        + "\(Quantity.grouped(plan.count)). Nothing was sent: look at the dry run again.")
            }
            guard !plan.isHopeless || request.field("yes") != nil else { return .page(Self.refusedByAll) }
            let who = request.visitor.name.auditor
            let begun = try await runs.replays.begin(plan, who: who, why: why, limits: limits)
            runs.start(begun.number, who: who)
            return .redirect(LocalLink("replays", String(begun.number)))
        } catch let error as ReplayError { return .notice("Not begun", status: 409, error.description) }
    }

    private func resume(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        guard let number = Int64(request.parameters[0]), let row = try await runs.replays.replay(number) else {
            return .page(Self.unknown)
        }
        guard row.effectiveState != .completed, !row.isHeld else {
            let why = "It is completed, or another process runs it."
            return .notice("Not continued", status: 409, why)
        }
        runs.start(number, who: request.visitor.name.auditor)
        return .redirect(LocalLink("replays", String(number)))
    }

    private func stop(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let why = "stopped by \(request.visitor.name)"
        guard let number = Int64(request.parameters[0]), runs.stop(number, why: why) else {
            return .notice("Not stopped", status: 409, "This console does not run that replay.")
        }
        return .redirect(LocalLink("replays", String(number)))
    }

    private func abandon(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        guard let number = Int64(request.parameters[0]) else { return .page(Self.unknown) }
        // A run that has just begun may not have its lock in the database yet.
        guard !runs.isRunning(number) else {
            return .notice("Not abandoned", status: 409, "This console runs it: stop it first.")
        }
        do {
            let why = request.field("why") ?? ""
            try await runs.replays.abandon(number, who: request.visitor.name.auditor, why: why)
            return .redirect(LocalLink("replays", String(number)))
        } catch let error as ReplayError { return .notice("Not abandoned", status: 409, error.description) }
    }
}
