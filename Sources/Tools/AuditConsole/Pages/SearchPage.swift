import AppStore
import Commands
import DeadLetters
import HTTP
import Store

/// The search, with its filters in the query string, so that the address can be shared.
struct SearchPage: Sendable {
    let sources: ConsoleSources

    private static let pageSize = 50

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let filter = LetterFilter(request.http.queryItems, now: sources.now())
        let cursor = request.argument("after").flatMap { DeadLetterTable.Cursor(parsing: $0) }
        var rows: [DeadLetterRow] = []
        var count: Int64?
        if filter.problems.isEmpty {
            if let text = filter.text {
                rows = try await DeadLetterTable.search(text, limit: Self.pageSize, on: sources.database)
                count =
                    rows.count < Self.pageSize
                    ? Int64(rows.count) : try await DeadLetterTable.searchTotal(text, on: sources.database)
            } else {
                rows = try await DeadLetterTable.page(
                    filter.query, after: cursor, limit: Self.pageSize + 1, on: sources.database)
                count = try await DeadLetterCounts.count(filter.query, on: sources.database)
            }
        }
        let standing = try await sources.standing()
        return .page(page(request, filter, rows: rows, count: count, standing: standing))
    }

    private func page(
        _ request: ConsoleRequest, _ filter: LetterFilter, rows: [DeadLetterRow], count: Int64?, standing: IndexStanding
    ) -> Page {
        Page("Search", section: .search) { html in
            html.element("h1", text: "Search")
            if let done = request.argument("done").flatMap({ Int64($0) }) {
                html.notice("Recorded for \(Quantity.counted(done, "dead letter")).", .done)
            }
            for problem in filter.problems { html.notice(problem, .alert) }
            form(&html, filter)
            html.standing(standing)
            // Above the letters, which take several screens on a phone.
            if filter.text == nil, !filter.items.isEmpty, let count, count > 0, request.visitor.role >= .operator {
                DecisionForms.ofMany(&html, filter, count: count, token: request.formToken)
            }
            results(&html, rows, of: filter, count: count)
        }
    }

    private func results(_ html: inout HTML, _ rows: [DeadLetterRow], of filter: LetterFilter, count: Int64?) {
        let shown = rows.prefix(Self.pageSize)
        html.element("h2", text: "Results")
        guard !rows.isEmpty else {
            html.element("p", [.class("soft")], text: "No dead letter matches.")
            return
        }
        let whole = count.map { " of \(Quantity.grouped($0))" } ?? ""
        let caption = "\(Quantity.grouped(shown.count))\(whole) dead letters, the newest first"
        html.table(caption, shown, columns: DeadLetterRow.columns(topic: sources.topic.name), by: "id")
        if rows.count > Self.pageSize, let last = shown.last {
            let next = HTTPItem("after", DeadLetterTable.Cursor(last).text)
            html.element("p") { html in
                let link = LocalLink("search", query: filter.items + [next])
                html.link("Older letters", to: link, class: "button")
            }
        }
    }

    private func form(_ html: inout HTML, _ filter: LetterFilter) {
        let isOpen = filter.items.contains { $0.name != "q" }
        html.element("form", HTML.Attribute.search("/search")) { html in
            html.field(
                "Any identifier", id: "q",
                [
                    .type("search"), .name("q"), .value(filter.items.value("q") ?? ""),
                    HTML.Attribute("data-search", nil), HTML.Attribute("spellcheck", "false"),
                ],
                hint: "ID of a letter, transaction, bundle, product, group or worker; fingerprint; "
                    + "or TOPIC/PARTITION/OFFSET. Other filters are then ignored.")
            html.element("details", HTML.Attribute.flag("open", isOpen)) { html in
                html.element("summary", text: "Filters")
                html.filters(Self.choices, Self.texts, value: filter.items.value)
            }
            html.submit("Search", clearing: LocalLink("search"))
        }
    }

    private static let choices = [
        ("Reason", "reason", RefusalReason.allCases.map(\.rawValue)),
        ("Class", "class", DeadLetterClass.allCases.map(\.rawValue)),
        ("State", "state", DeadLetterState.allCases.map(\.rawValue)),
        ("Stage", "stage", ["verify", "dedupe", "link", "entitle"]),
    ]

    private static let texts = [
        ("Failed since", "since", "2026-01-31, or 7d"), ("Failed before", "until", "2026-01-31, or 1h"),
        ("Bundle ID", "bundle", ""), ("Environment", "environment", "Production"), ("Product ID", "product", ""),
        ("Transaction ID", "transaction", "or original transaction ID"),
        ("Certificate", "certificate", "beginning of its SHA-256"), ("Worker", "worker", ""),
        ("Source record", "source", "topic/partition/offset"), ("Group", "group", ""),
    ]
}

extension HTML.Attribute {
    /// The attributes of a form that filters the page at this path.
    static func search(_ path: String) -> [Self] { [Self("method", "get"), Self("action", path), .class("card")] }
}

extension HTML {
    mutating func submit(_ label: String, clearing link: LocalLink) {
        element("div", [.class("actions")]) { html in
            html.element("button", [.class("primary")], text: label)
            html.link("Clear", to: link)
        }
    }

    /// Writes the fields of a filter.
    ///
    /// - Parameters:
    ///   - choices: labels, names and possible values of fields with a list to choose from.
    ///   - texts: labels, names and examples of text fields.
    ///   - value: returns the current value of the field with this name.
    mutating func filters(
        _ choices: [(String, String, [String])], _ texts: [(String, String, String)], value: (String) -> String?
    ) {
        element("div", [.class("filters")]) { html in
            for (label, name, values) in choices { html.choice(label, name, from: values, chosen: value(name)) }
            for (label, name, example) in texts {
                html.field(
                    label, id: "filter-\(name)",
                    [.type("text"), .name(name), .value(value(name) ?? ""), Attribute("spellcheck", "false")],
                    hint: example.isEmpty ? nil : example)
            }
        }
    }

    /// Writes a field with a list of values, of which `any` is the first.
    private mutating func choice(_ label: String, _ name: String, from choices: [String], chosen: String?) {
        let id = "filter-\(name)"
        element("div", [.class("field")]) { html in
            html.element("label", [Attribute("for", id)], text: label)
            html.element("select", [.id(id), .name(name)]) { html in
                html.element("option", [.value("")], text: "any")
                for choice in choices {
                    let isChosen = chosen == choice
                    html.element("option", [.value(choice)] + Attribute.flag("selected", isChosen), text: choice)
                }
            }
        }
    }
}
