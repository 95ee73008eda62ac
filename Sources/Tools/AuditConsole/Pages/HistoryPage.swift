import AppStore
import DeadLetters
import HTTP
import JSON
import Commands
import Settings
import Store

/// The actions of all users, the newest first.
///
/// A decision about many letters takes one row, and so does a replay.
struct HistoryPage: Sendable {
    let sources: ConsoleSources

    private static let runsMax = 100
    private static let actionsMax = 2_000

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let filter = HistoryFilter(request.http.queryItems, now: sources.now())
        let before = request.argument("before").flatMap { Int64($0) } ?? .max
        let actions =
            filter.problems.isEmpty
            ? try await DeadLetterActionTable.newest(
                filter.query, before: before, limit: Self.actionsMax + 1, on: sources.database) : []
        return .page(page(filter, actions))
    }

    private func page(_ filter: HistoryFilter, _ actions: [DeadLetterAction]) -> Page {
        let runs = ActionRun.runs(of: Array(actions.prefix(Self.actionsMax)))
        let shown = Array(runs.prefix(Self.runsMax))
        let isCut = shown.count == runs.count && actions.count > Self.actionsMax
        return Page("History", section: .history) { html in
            html.element("h1", text: "History")
            html.element("p", [.class("lead")], text: "Who did what about dead letters. Entries are only ever added.")
            for problem in filter.problems { html.notice(problem, .alert) }
            form(&html, filter)
            guard !shown.isEmpty else {
                let text = filter.items.isEmpty ? "Nothing was done yet." : "No action matches."
                html.element("p", [.class("soft")], text: text)
                return
            }
            let caption = "Actions, the newest first" + (isCut ? "; the last one continues on the next page" : "")
            html.table(caption, shown, columns: ActionRun.columns)
            let rest = runs.dropFirst(Self.runsMax).first?.last
            guard let before = rest.map({ $0.number + 1 }) ?? (isCut ? actions.dropLast().last?.number : nil) else {
                return
            }
            let older = HTTPItem("before", String(before))
            html.element("p") { html in
                let link = LocalLink("history", query: filter.items + [older])
                html.link("Older actions", to: link, class: "button")
            }
        }
    }

    private func form(_ html: inout HTML, _ filter: HistoryFilter) {
        html.element("form", HTML.Attribute.search("/history")) { html in
            html.element("details", HTML.Attribute.flag("open", !filter.items.isEmpty)) { html in
                html.element("summary", text: "Filters")
                html.filters(
                    [("What", "action", DeadLetterAction.Kind.allCases.map(\.rawValue))],
                    [
                        ("Who", "who", "the whole name"), ("Replay", "replay", "its number"),
                        ("Since", "since", "2026-01-31, or 7d"), ("Before", "until", "2026-01-31, or 1h"),
                    ], value: filter.items.value)
                html.submit("Filter", clearing: LocalLink("history"))
            }
        }
    }
}

/// Consecutive actions of one user with the same kind and reason, or all actions of one replay.
struct ActionRun {
    /// The actions, the newest first; never empty.
    private(set) var actions: [DeadLetterAction]

    var last: DeadLetterAction { actions[0] }

    /// - Parameter actions: the actions, the newest first.
    static func runs(of actions: [DeadLetterAction]) -> [ActionRun] {
        var ofReplay: [Int64: Int] = [:]
        return actions.reduce(into: []) { runs, action in
            let replay = action.deadLetterID == nil ? action.replay : nil
            let isLast = runs.last?.continues(with: action) == true
            if let index = replay.map({ ofReplay[$0] }) ?? (isLast ? runs.count - 1 : nil) {
                runs[index].actions.append(action)
            } else {
                if let replay { ofReplay[replay] = runs.count }
                runs.append(ActionRun(actions: [action]))
            }
        }
    }

    private var isReplay: Bool { last.replay != nil && last.deadLetterID == nil }

    private func continues(with action: DeadLetterAction) -> Bool {
        action.who == last.who && action.kind == last.kind && action.why == last.why && action.replay == last.replay
            && (action.deadLetterID == nil) == (last.deadLetterID == nil)
    }

    /// The detail that all actions share, or a replay's selection and interruptions.
    ///
    /// `nil` if the actions differ in their detail.
    var detail: String? {
        guard !isReplay else { return actions.reversed().compactMap(\.detail).joined(separator: "; ") }
        return actions.allSatisfy { $0.detail == last.detail } ? last.detail : nil
    }

    static let columns: [ReportColumn<ActionRun>] = [
        .init("at", title: "when", \.last.at), .init("who", lengthMax: 80, \.last.who),
        .init("action", title: "what", \.last.kind.rawValue), .init("times", \.actions.count),
        .init("letters") { $0.actions.compactMap(\.deadLetterID) }, .init("replay", \.last.replay),
        // The reason of the oldest action.
        .init("why", lengthMax: 500) { $0.actions.last?.why }, .init("detail", lengthMax: 200, \.detail),
    ]
}

/// The filters of the history: the arguments of the page, and the database query that they stand for.
struct HistoryFilter {
    private(set) var query = DeadLetterActionQuery()
    /// Explanations of the invalid arguments, for the user.
    private(set) var problems: [String] = []
    /// The arguments as received, for links and fields.
    private(set) var items: [HTTPItem] = []

    init(_ items: [HTTPItem], now: Timestamp) {
        for item in items where !item.value.isEmpty && self.items.count < 20 {
            let value = item.value
            switch item.name {
            case "who": query.who = value
            case "action":
                query.kind = DeadLetterAction.Kind(rawValue: value)
                if query.kind == nil { problems.append("There is no action of that name.") }
            case "replay":
                query.replay = Int64(value)
                if query.replay == nil { problems.append("A replay is given by its number.") }
            case "since": query.since = instant(item, now)
            case "until": query.until = instant(item, now)
            default: continue
            }
            self.items.append(item)
        }
    }

    private mutating func instant(_ item: HTTPItem, _ now: Timestamp) -> Timestamp? {
        do throws(UsageError) { return try FilterOptions.instant(item.name, item.value, now: now) } catch {
            problems.append(error.description)
            return nil
        }
    }
}
