import HTTP
import Store

/// The actions of all users, the last first.
struct HistoryPage: Sendable {
    let sources: ConsoleSources

    private static let pageSize = 100

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let before = request.argument("before").flatMap { Int64($0) } ?? .max
        let actions = try await DeadLetterActionTable.newest(
            before: before,
            limit: Self.pageSize + 1,
            on: sources.database
        )
        let shown = Array(actions.prefix(Self.pageSize))
        let page = Page("History", section: .history) { html in
            html.element("h1", text: "History")
            html.element(
                "p",
                [.class("lead")],
                text: "Who did what about dead letters. Entries are only ever added."
            )
            guard !shown.isEmpty else {
                html.element("p", [.class("soft")], text: "Nothing was done yet.")
                return
            }
            html.actions(shown, caption: "Actions, the last first", withLetters: true)
            if actions.count > Self.pageSize, let last = shown.last {
                let older = HTTPItem("before", String(last.number))
                html.element("p") { html in
                    let link = LocalLink("history", query: [older])
                    html.element("a", [.class("button"), .href(link)], text: "Older ones")
                }
            }
        }
        return .page(page)
    }
}
