import AppStore
import Commands
import HTTP
import JSON
import Reports
import Settings
import Store

/// Apple's refund requests, and one of them with its evidence; without their users.
struct RefundsPage: Sendable {
    let sources: ConsoleSources

    private static let pageSize = 100
    private static let days: Int64 = 30
    private static let columns = RefundTable.Row.columns.filter { $0.name != "user_id" }
    /// The columns of the list, whose products lead to no search for dead letters.
    private static let listed = columns.map { column in
        column.name == "product_id" ? .words("product") { $0.productID?.text ?? "-" } : column
    }
    private static let counted = RefundTable.Count.columns.map { column in
        column.name == "product_id" ? .words("product") { $0.productID?.text ?? "-" } : column
    }

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let filter = Filter(request.http.queryItems, limit: Self.pageSize + 1)
        let rows = Array(try await sources.database.run(RefundTable.listWithoutUsers, filter.selection))
        let since = StoredTime(milliseconds: sources.now().milliseconds - Self.days * Timestamp.millisecondsPerDay)
        let counts = Array(try await sources.database.run(RefundTable.count, (filter.selection.environment, since)))
        let page = Page("Refunds", section: .refunds) { html in
            html.element("h1", text: "Refund requests")
            html.element(
                "p", [.class("lead")],
                text: "Apple asks what is known when a customer wants a refund. Here is what it was told, and what it "
                    + "decided. Nothing can be changed here, and users are not shown.")
            figures(&html, counts)
            form(&html, filter)
            list(&html, rows, of: filter)
            guard !counts.isEmpty else { return }
            html.element("h2", text: "The last \(Self.days) days")
            html.table(
                "Money asked for and refunded, by currency", RefundMoney.of(counts), columns: RefundMoney.columns)
            html.element("h2", text: "By product and outcome")
            html.table(
                "Requests by product, outcome, preference, Apple's decision and currency", counts, columns: Self.counted
            )
        }
        return .page(page)
    }

    func one(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        var selection = RefundTable.Selection(limit: 10)
        selection.id = Identifier(request.parameters[0])
        let rows = Array(try await sources.database.run(RefundTable.listWithoutUsers, selection))
        guard let first = rows.first else {
            return .notice("Not found", status: 404, "There is no refund request with this ID.")
        }
        return .page(
            Page("Refund request \(first.id.text.prefix(8))", section: .refunds) { html in
                html.element("h1") { html in
                    html.text("Refund request ")
                    html.element("span", [.class("mono"), HTML.Attribute("data-copy", "ID")]) {
                        $0.foreign(first.id.text, bytesMax: 64)
                    }
                }
                // A row for each environment with this UUID; Apple gives one UUID to one environment.
                for row in rows { write(row, to: &html) }
            })
    }

    private func write(_ row: RefundTable.Row, to html: inout HTML) {
        let members = JSONContent(row, Self.columns)
        html.element("p", [.class("lead")]) { html in
            html.value("outcome", members["outcome"])
            html.text(" \(row.sentence)")
        }
        html.element("div", [.class("columns")]) { html in
            html.element("div") { html in
                html.card("The answer") { html in
                    html.facts(
                        members.only("answer_in_words", "preference", "decided_by", "reason", "ended_at", "error_code"))
                }
                html.card("Apple's decision") { $0.facts(members.only("decision", "decision_at")) }
                html.card("The request") { html in
                    let price = row.price.map { "\(RefundMoney.text($0)) \(row.currency?.text ?? "")" }
                    html.facts(
                        members.only("request_reason", "requested_at", "deadline", "product_id", "product_type") + [
                            "price": price
                        ] + members.only("environment", "bundle_id", "transaction_id", "original_transaction_id"))
                }
            }
            html.element("div") { html in
                html.card("Evidence") { html in
                    html.element("p", [.class("hint")], text: "Consumed is in thousandths of a percent.")
                    html.facts(row.evidence.map { JSONContent($0.root) } ?? .null)
                }
                guard let answer = row.answer else { return }
                html.card("The body for Apple") { html in
                    html.block(String(decoding: answer.bytes, as: UTF8.self), label: "The body as JSON")
                }
            }
        }
    }

    private func figures(_ html: inout HTML, _ counts: [RefundTable.Count]) {
        func sum(_ isCounted: (RefundTable.Count) -> Bool) -> String {
            Quantity.grouped(counts.reduce(0) { $0 + (isCounted($1) ? $1.count : 0) })
        }
        let figures: [(String, String, String)] = [
            ("Requests", sum { _ in true }, "in the last \(Self.days) days"),
            ("Waiting", sum { $0.outcome == "waiting" }, "for facts, consent or Apple"),
            ("Answered", sum { $0.outcome == "answered" }, "with the customer's consent"),
            ("No consent", sum { $0.outcome == "no_consent" }, "nothing was sent"),
            ("Late or refused", sum { ["late", "refused"].contains($0.outcome) }, "Apple decided alone"),
            ("Refunded", sum { $0.decision == "refunded" }, "by Apple, answered or not"),
        ]
        html.figures { html in for (label, number, remark) in figures { html.figure(label, number) { $0.text(remark) } }
        }
    }

    private func form(_ html: inout HTML, _ filter: Filter) {
        html.element("form", HTML.Attribute.search("/refunds")) { html in
            html.element("details", HTML.Attribute.flag("open", !filter.items.isEmpty)) { html in
                html.element("summary", text: "Filters")
                html.filters(
                    [
                        ("Outcome", "outcome", RefundRequestTable.outcomes),
                        ("Preference", "preference", RefundReplies.preferences),
                        ("Environment", "environment", [Environment.production, .sandbox].map(\.rawValue)),
                    ], [("Product ID", "product", "")], value: filter.items.value)
                html.submit("Filter", clearing: LocalLink("refunds"))
            }
        }
    }

    private func list(_ html: inout HTML, _ rows: [RefundTable.Row], of filter: Filter) {
        guard !rows.isEmpty else {
            let text = filter.items.isEmpty ? "Apple has asked nothing yet." : "No request matches."
            html.element("p", [.class("soft")], text: text)
            return
        }
        let shown = rows.prefix(Self.pageSize)
        html.table("Requests, the newest first", shown, columns: Self.listed, by: "request_id")
        guard rows.count > shown.count, let last = shown.last else { return }
        let after = HTTPItem("after", "\(last.requestedAt.milliseconds)_\(last.id.text)")
        html.element("p") { html in
            html.link("Older requests", to: LocalLink("refunds", query: filter.items + [after]), class: "button")
        }
    }
}

extension RefundsPage {
    /// The filter of the list: the arguments of the page, and the database query that they stand for.
    private struct Filter {
        private(set) var selection: RefundTable.Selection
        /// The arguments as received, for links and fields; without the cursor.
        private(set) var items: [HTTPItem] = []

        init(_ items: [HTTPItem], limit: Int) {
            selection = RefundTable.Selection(limit: limit)
            for item in items where !item.value.isEmpty && self.items.count < 20 {
                switch item.name {
                case "outcome": selection.outcome = item.value
                case "preference": selection.preference = item.value
                case "environment": selection.environment = item.value
                case "product": selection.productID = Identifier(item.value)
                case "after":
                    let parts = item.value.split(separator: "_", maxSplits: 1)
                    guard parts.count == 2, let milliseconds = Int64(parts[0]) else { continue }
                    selection.after = RefundTable.Cursor(milliseconds: milliseconds, id: Identifier(String(parts[1])))
                    continue
                default: continue
                }
                self.items.append(item)
            }
        }
    }
}

extension RefundTable.Row {
    /// The state of the request in a sentence.
    fileprivate var sentence: String {
        switch (outcome, decision) {
        case ("waiting", _): "Apple waits for the answer."
        case ("no_consent", _): "Apple was told nothing, because the customer has not consented."
        case ("refused", _): "Apple refused the answer."
        case ("late", _): "Apple was told nothing in time."
        case (_, "refunded"?): "Apple has refunded the purchase."
        case (_, "declined"?): "Apple has declined the refund."
        case (_, "reversed"?): "Apple has refunded the purchase, and has taken the refund back."
        default: "Apple has the answer, and has not decided yet."
        }
    }
}
