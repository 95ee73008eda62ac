import Commands

/// A column of a page's table: its title, and what it shows of a row.
struct PageColumn<Row> {
    fileprivate let title: String
    /// The class of its cells, and of the title's if they are numbers.
    fileprivate let cellClass: String?
    fileprivate let cell: (inout HTML, Row) -> Void
    /// Whether its cells name their rows.
    fileprivate var isRowHeader = false

    /// - Parameter cellClass: the class of its cells; nil for none.
    init(_ title: String, _ cellClass: String? = nil, _ cell: @escaping (inout HTML, Row) -> Void) {
        self.title = title
        self.cellClass = cellClass
        self.cell = cell
    }

    /// The column whose cells name their rows.
    static func row(_ title: String, _ cellClass: String? = nil, _ cell: @escaping (inout HTML, Row) -> Void)
        -> PageColumn
    {
        var column = PageColumn(title, cellClass, cell)
        column.isRowHeader = true
        return column
    }

    static func number(_ title: String, _ value: @escaping (Row) -> Int64) -> PageColumn {
        PageColumn(title, "number") { $0.text(Quantity.grouped(value($1))) }
    }

    /// An untrusted text, or a dash.
    static func foreign(
        _ title: String, _ cellClass: String? = nil, bytesMax: Int = 255, _ text: @escaping (Row) -> String?
    ) -> PageColumn { PageColumn(title, cellClass) { $0.optional(text($1), bytesMax: bytesMax) } }

    fileprivate func write(_ row: Row, to html: inout HTML) {
        let classes: [HTML.Attribute] = cellClass.map { [.class($0)] } ?? []
        let scope = isRowHeader ? [HTML.Attribute("scope", "row")] : []
        html.element(isRowHeader ? "th" : "td", scope + classes) { cell(&$0, row) }
    }
}

extension HTML {
    /// A table that scrolls by itself if it is wider than the page.
    ///
    /// - Parameters:
    ///   - caption: says what the rows are; shown above them.
    ///   - id: a row's in the page; nil for none.
    mutating func table<Row>(
        _ caption: String, _ rows: some Sequence<Row>, _ columns: [PageColumn<Row>], id: (Row) -> String? = { _ in nil }
    ) {
        // Focusable, so that the keyboard scrolls it too.
        let region = [.class("scroll"), Attribute("role", "region"), .label(caption), Attribute("tabindex", "0")]
        element("div", region) { html in
            html.element("table") { html in
                html.element("caption", text: caption)
                html.element("thead") { html in
                    html.element("tr") { html in
                        for column in columns {
                            let scope = Attribute("scope", "col")
                            let isNumber = column.cellClass == "number"
                            let classes: [Attribute] = isNumber ? [.class("number")] : []
                            html.element("th", [scope] + classes, text: column.title)
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in rows {
                        html.element("tr", id(row).map { [.id($0)] } ?? []) { html in
                            columns.forEach { $0.write(row, to: &html) }
                        }
                    }
                }
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
        _ id: String, every seconds: Int = 10, isAnnounced: Bool = false, _ content: (inout HTML) -> Void
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

    /// A part of a page in a frame of its own, under a heading.
    mutating func card(_ title: String, _ content: (inout HTML) -> Void) {
        element("section", [.class("card"), .label(title)]) { html in
            html.element("h2", text: title)
            content(&html)
        }
    }

    mutating func fact(_ name: String, _ content: (inout HTML) -> Void) {
        element("dt", text: name)
        element("dd", content: content)
    }

    mutating func tag(_ word: String) {
        let isPlain = word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
        element("span", [.class("tag" + (isPlain ? " \(word)" : ""))], text: word)
    }
}
