import JSON
import Commands

extension HTML {
    /// A table with the columns of a report; it scrolls by itself if it is wider than the page.
    ///
    /// - Parameters:
    ///   - caption: describes the rows; shown above them.
    ///   - name: the column that identifies a row and links to the row's page; `nil` for none.
    ///   - id: returns the `id` attribute of a row; `nil` for none.
    mutating func table<Row>(
        _ caption: String, _ rows: some Sequence<Row>, columns: [ReportColumn<Row>], by name: String? = nil,
        id: (Row) -> String? = { _ in nil }
    ) {
        let columns = columns.compactMap { column in column.column.map { (column, $0.title, Self.cellClass($0)) } }
        // The region is focusable, so that the keyboard scrolls it too.
        let region = [.class("scroll"), Attribute("role", "region"), .label(caption), Attribute("tabindex", "0")]
        element("div", region) { html in
            html.element("table") { html in
                html.element("caption", text: caption)
                html.element("thead") { html in
                    html.element("tr") { html in
                        for (_, title, classes) in columns {
                            html.element("th", [Attribute("scope", "col")] + classes, text: Self.label(title))
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in rows {
                        html.element("tr", id(row).map { [.id($0)] } ?? []) { html in
                            for (column, _, classes) in columns {
                                let isName = column.name != nil && column.name == name
                                let scope = isName ? [Attribute("scope", "row")] : []
                                html.element(isName ? "th" : "td", scope + classes) { html in
                                    html.value(
                                        column.name ?? "", column.name.map { _ in column.value(row) } ?? .string(""),
                                        shown: column.cell(row), isRow: isName)
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private static func cellClass(_ column: TextTable.Column) -> [Attribute] {
        guard column.alignment == .left else { return [.class("number")] }
        return wideTitles.contains(column.title) ? [.class("wide")] : []
    }

    private static let wideTitles: Set = ["because", "chosen", "detail", "rule", "value", "what to do", "why"]

    /// A list of the members of an answer that are neither null nor empty.
    mutating func facts(_ answer: JSONContent) {
        let members = answer.members.filter { !$0.value.isNull && $0.value.text != "" }
        guard !members.isEmpty else { return optional(nil) }
        element("dl", [.class("facts")]) { html in
            for (name, value) in members {
                html.element("dt", text: Self.label(name))
                html.element("dd") { $0.value(name, value) }
            }
        }
    }

    /// The label of a member, such as `Source SHA-256` for `source_sha256`.
    private static func label(_ name: String) -> String {
        guard !name.contains(".") else { return name }
        let words = name.split(separator: "_").map { special[String($0)] ?? String($0) }.joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    private static let special = ["id": "ID", "sha256": "SHA-256"]

    /// A part of a page that the script reloads at intervals.
    ///
    /// - Parameters:
    ///   - id: the `id` attribute of the part.
    ///   - seconds: the interval between two requests.
    ///   - isAnnounced: whether screen readers read a change aloud.
    mutating func live(
        _ id: String, every seconds: Int = 10, isAnnounced: Bool = false, _ content: (inout HTML) -> Void
    ) {
        let role = isAnnounced ? [Attribute("role", "status")] : []
        let refresh = Attribute("data-refresh", String(seconds))
        element("div", [.id(id), refresh] + role, content: content)
    }

    /// A bar that shows how much is done.
    mutating func progress<Count: BinaryInteger>(_ done: Count, of total: Count, _ participle: String) {
        let label = "\(Quantity.grouped(done)) of \(Quantity.grouped(total)) \(participle)"
        let bar = [Attribute("max", String(max(1, total))), .value(String(done)), .label(label)]
        element("progress", bar, text: "")
    }

    /// A section of a page in a frame of its own, with a heading.
    mutating func card(_ title: String, _ content: (inout HTML) -> Void) {
        element("section", [.class("card"), .label(title)]) { html in
            html.element("h2", text: title)
            content(&html)
        }
    }

    mutating func tag(_ word: String) {
        let isPlain = word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
        element("span", [.class("tag" + (isPlain ? " \(word)" : ""))], text: word)
    }
}
