import DeadLetters
import HTTP
import Commands
import Store

/// Dead letters that look alike, the largest groups first.
struct GroupsPage: Sendable {
    let sources: ConsoleSources

    private static let groupsMax = 200

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let onlyOpen = request.argument("state") != "all"
        var query = DeadLetterQuery()
        query.states = onlyOpen ? [.open] : []
        let groups = try await DeadLetterGroupTable.largest(
            query, now: sources.now(), limit: Self.groupsMax, on: sources.database)
        let standing = try await sources.standing()
        let page = Page("Groups", section: .groups) { html in
            html.element("h1", text: "Groups")
            html.element(
                "p", [.class("lead")],
                text: "Dead letters that look alike: same reason, leaf certificate, bundle ID, "
                    + "source topic and producer.")
            html.standing(standing)
            html.element("p") { html in
                let other = onlyOpen ? [HTTPItem("state", "all")] : []
                html.link(
                    onlyOpen ? "Show groups of all states" : "Show only groups with open dead letters",
                    to: LocalLink("groups", query: other))
            }
            guard !groups.isEmpty else {
                html.element("p", [.class("soft")], text: "There are no such dead letters.")
                return
            }
            let what = onlyOpen ? "with open dead letters" : "of all states"
            let caption = "\(Quantity.grouped(groups.count)) groups \(what), the largest first"
            html.table(caption, groups, columns: DeadLetterGroup.columns, by: "group")
        }
        return .page(page)
    }
}
