import Commands
import HTTP
import JSON
import Postgres
import Reports
import Store

/// Stored plans, and one of them with its answer and the progress of its application.
struct PlansPage: Sendable {
    let sources: ConsoleSources

    private static let pageSize = 50
    private static let rowsShown = 200

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let before = request.argument("before").flatMap { Int64($0) }
        let plans = Array(try await sources.database.run(PlanTable.list, (before, Self.pageSize + 1)))
        let page = Page("Plans", section: .plans) { html in
            html.element("h1", text: "Plans")
            html.element(
                "p", [.class("lead")],
                text: "What another catalog, other links or another rule of linking would do to users, as "
                    + "it was planned. Nothing can be changed here, and users are not shown.")
            guard !plans.isEmpty else {
                let text = before == nil ? "Nothing was planned yet." : "There are no older plans."
                return html.element("p", [.class("soft")], text: text)
            }
            let shown = plans.prefix(Self.pageSize)
            html.table("Plans, the newest first", shown, columns: PlanTable.Listed.columns, by: "plan")
            guard plans.count > shown.count, let last = shown.last else { return }
            html.element("p") { html in
                let older = LocalLink("plans", query: [HTTPItem("before", String(last.head.number))])
                html.link("Older plans", to: older, class: "button")
            }
        }
        return .page(page)
    }

    func one(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        guard let number = Int64(request.parameters[0]),
            let (plan, state) = try await sources.database.withConnection({ connection in
                try await Self.read(number, on: connection)
            })
        else {
            return .notice(
                "Not found", status: 404,
                "There is no plan of this number. The newest 1,000 are kept, and those that were applied.")
        }
        let result = plan.result.root
        let page = Page("Plan \(plan.head.number)", section: .plans) { html in
            html.element("h1", text: "Plan \(plan.head.number)")
            html.live("state") { write(state, of: plan.head, to: &$0) }
            figures(&html, result)
            html.card("The plan") { $0.facts(Self.facts(plan)) }
            names(&html, result)
            html.element("h2", text: "What it would do")
            answer(&html, result, of: plan.head)
        }
        return .page(page)
    }

    private static func read(_ number: Int64, on connection: PostgresConnection) async throws -> (
        PlanTable.Stored, PlanState
    )? {
        guard let plan = try await connection.run(PlanTable.read, number).first else { return nil }
        return (plan, try await PlanState(of: plan.head, on: connection))
    }

    private func write(_ state: PlanState, of head: PlanTable.Head, to html: inout HTML) {
        html.element("p", [.class("lead")]) { html in
            let text = state.text()
            html.foreign(text.prefix(1).uppercased() + text.dropFirst() + ".")
        }
        if let (done, total) = state.progress { html.progress(done, of: total, "transactions projected") }
        guard state.isProjected else { return }
        html.element("p") { html in
            html.text("What happened, beside what was planned: ")
            html.element("code", text: "pipeline plan show \(head.number)")
        }
    }

    private func figures(_ html: inout HTML, _ result: JSONValue) {
        func number(_ name: String) -> String { result[name]?.int64.map { Quantity.grouped($0) } ?? "-" }
        let figures = [
            ("Users who lose time", number("losing_users"), "under a key, from then on"),
            ("Rows", number("rows"), "of entitlements and the ledger would change"),
            ("Purchases", number("purchases"), "projected; transactions read: \(number("transactions"))"),
            (
                "Computing", result["projecting_seconds"]?.double.map { "\($0) s" } ?? "-",
                "entitle-worker computes the same, and writes the rows"
            ),
        ]
        html.figures { html in for (label, number, remark) in figures { html.figure(label, number) { $0.text(remark) } }
        }
    }

    private static func facts(_ plan: PlanTable.Stored) -> JSONContent {
        let head = plan.head
        let inputs = head.input.root.members.prefix(20).map { input in
            let parts = input.value.members.prefix(20).map { "\(text($0.key)) \(text($0.value))" }
            return (
                String(text(input.key).prefix(100)),
                (parts.isEmpty ? text(input.value) : parts.joined(separator: ", ")).json
            )
        }
        return [
            "planned_at": head.plannedAt, "requested_by": head.requestedBy, "database_user": head.plannedBy,
            "reason": head.reason,
            "against": head.catalogVersion == 0 ? "no catalog" : "version \(head.catalogVersion)",
        ] + .object(inputs) + ["plan_sha256": plan.sha256]
    }
}

extension PlansPage {
    /// The tables of the answer by their members of the result.
    private static let tables: [(member: String, caption: String, columns: [ReportColumn<JSONValue>])] =
        [("users", "Users with any effect, at each instant", stored(PlanTables.Users.numbers))]
        + zip(PlanTables.Users.lists, ["key", "product behind the access", "rule behind the access"]).map {
            list, name in (list.member, "Users by \(name)", stored(list.columns))
        } + [
            ("products", "Changed purchases by product", stored(PlanAnswer.products)),
            ("balances", "Credits and debits by currency", stored(PlanTables.Balances.columns)),
        ]

    /// The columns for rows of a stored result.
    private static func stored(_ columns: [ReportColumn<some Any>]) -> [ReportColumn<JSONValue>] {
        columns.compactMap { column in
            guard let name = column.name, let shown = column.column else { return nil }
            // A cell with the name of its column would link to a search for dead letters.
            return name == "at"
                ? .init(name) { text($0[name]) } : .words(shown.title, shown.alignment) { text($0[name]) }
        }
    }

    /// The text of a stored value, as it was written if it is neither a text nor a whole number.
    private static func text(_ value: JSONValue?) -> String {
        guard let value, !value.isNull else { return "-" }
        return value.string ?? value.int64.map { Quantity.grouped($0) }
            ?? String(decoding: value.rawBytes.prefix(200), as: UTF8.self)
    }

    private func names(_ html: inout HTML, _ result: JSONValue) {
        let lists = PlanAnswer.names.compactMap { list in
            let names = result[list.member]?.elements.map { Self.text($0) } ?? []
            return names.isEmpty ? nil : (list.title, PlanAnswer.list(names).json)
        }
        guard !lists.isEmpty else { return }
        html.card("Keys and products") { $0.facts(.object(lists)) }
    }

    private func answer(_ html: inout HTML, _ result: JSONValue, of head: PlanTable.Head) {
        let members = Self.tables.map(\.member) + PlanAnswer.names.map(\.member)
        let missing = members.filter { result[$0]?.kind != .array }
        if !missing.isEmpty {
            html.notice(
                "The stored result lacks \(missing.joined(separator: ", ")): another version wrote it, or it is "
                    + "damaged.", .note)
        }
        let legend =
            result["keys"]?.count == 0 && !missing.contains("keys")
            ? "No user would lose or gain a key, or have one until another end."
            : "Lost and gained: users who would no longer have the key at the instant, or newly have it. Earlier and "
                + "later: users who would have it until another end."
        html.element("p", [.class("soft")], text: legend)
        var isCut = (result["left_out"]?.int64 ?? 0) > 0
        for table in Self.tables {
            guard let rows = result[table.member]?.elements, let count = result[table.member]?.count, count > 0 else {
                continue
            }
            html.table(table.caption, rows.prefix(Self.rowsShown), columns: table.columns)
            isCut = isCut || count > Self.rowsShown
        }
        guard isCut else { return }
        html.element("p") { html in
            html.text("Not all is shown. More has ")
            html.element("code", text: "pipeline plan show \(head.number) --json")
        }
    }
}
