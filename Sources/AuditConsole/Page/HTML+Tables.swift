import Settings

struct TableColumn: Sendable {
    let title: String
    let isNumber: Bool

    static func text(_ title: String) -> TableColumn { TableColumn(title: title, isNumber: false) }
    static func number(_ title: String) -> TableColumn { TableColumn(title: title, isNumber: true) }
}

extension HTML {
    /// A table that scrolls by itself if it is wider than the page.
    ///
    /// - Parameters:
    ///   - caption: says what the rows are; shown above them.
    ///   - rows: writes the `tr` elements.
    mutating func table(
        _ caption: String,
        _ columns: [TableColumn],
        rows: (inout HTML) -> Void
    ) {
        // Focusable, so that the keyboard scrolls it too.
        let region = [
            .class("scroll"), Attribute("role", "region"), .label(caption),
            Attribute("tabindex", "0"),
        ]
        element("div", region) { html in
            html.element("table") { html in
                html.element("caption", text: caption)
                html.element("thead") { html in
                    html.element("tr") { html in
                        for column in columns {
                            let scope = Attribute("scope", "col")
                            let classes: [Attribute] = column.isNumber ? [.class("number")] : []
                            html.element("th", [scope] + classes, text: column.title)
                        }
                    }
                }
                html.element("tbody", content: rows)
            }
        }
    }

    /// A part of a page that the script requests again and again.
    ///
    /// - Parameters:
    ///   - id: the part's in the page.
    ///   - seconds: between two requests.
    ///   - isAnnounced: whether screen readers read a change aloud.
    mutating func live(
        _ id: String,
        every seconds: Int = 10,
        isAnnounced: Bool = false,
        _ content: (inout HTML) -> Void
    ) {
        let role = isAnnounced ? [Attribute("role", "status")] : []
        let refresh = Attribute("data-refresh", String(seconds))
        element("div", [.id(id), refresh] + role, content: content)
    }

    /// Names with their explanations.
    mutating func facts(_ facts: [(name: String, text: String)]) {
        element("dl", [.class("facts")]) { html in
            for (name, text) in facts {
                html.element("dt", text: name)
                html.element("dd", text: text)
            }
        }
    }

    mutating func fact(_ name: String, _ content: (inout HTML) -> Void) {
        element("dt", text: name)
        element("dd", content: content)
    }

    mutating func number(_ value: some BinaryInteger) {
        element("td", [.class("number")], text: Quantity.grouped(value))
    }

    mutating func tag(_ word: String) {
        let isPlain = word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
        element("span", [.class("tag" + (isPlain ? " \(word)" : ""))], text: word)
    }
}
