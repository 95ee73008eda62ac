import AppStore
import DeadLetters
import HTTP
import Settings
import Store

extension HTML {
    /// An instant in UTC, to the second.
    ///
    /// The pages' script shows its distance from now instead, and this text on hover: without a
    /// script, saved or printed, a page stays true.
    mutating func time(_ instant: Timestamp) {
        let attributes = [Attribute("datetime", instant.description), .class("time")]
        element("time", attributes, text: Self.utc(instant))
    }

    /// `2026-01-31 12:00:00 UTC`.
    static func utc(_ instant: Timestamp) -> String {
        let seconds = Timestamp(milliseconds: instant.wholeSeconds * 1000)
        return seconds.description.replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    /// A link to a letter's page, by the beginning of its ID.
    mutating func letter(_ id: String, isRow: Bool = false) {
        let row = isRow ? [Attribute("data-row", nil)] : []
        element("a", [.class("mono"), .href(LocalLink("letters", id))] + row) { html in
            html.foreign(String(id.prefix(12)))
        }
    }

    /// A reason that links to its explanation.
    mutating func reason(_ reason: String) {
        guard RefusalReason(rawValue: reason) != nil else {
            element("code") { $0.foreign(reason, bytesMax: 80) }
            return
        }
        element("a", [.href(LocalLink("help", fragment: reason))]) { $0.breakable(reason) }
    }

    /// A name of ours as code that may break after an underscore.
    private mutating func breakable(_ name: String) {
        element("code", [.class("name")]) { html in
            let parts = name.split(separator: "_")
            for part in parts.dropLast() {
                html.text("\(part)_")
                html.void("wbr")
            }
            html.text(parts.last.map(String.init) ?? "")
        }
    }

    /// An untrusted text, or a dash.
    mutating func optional(_ text: String?, bytesMax: Int = 255) {
        if let text {
            foreign(text, bytesMax: bytesMax)
        } else {
            element("span", [.class("soft")], text: "–")
        }
    }

    mutating func notice(_ text: String, _ kind: NoticeKind) {
        let role = kind == .alert ? "alert" : "status"
        element("p", [.class(kind.rawValue), Attribute("role", role)], text: text)
    }

    enum NoticeKind: String {
        case alert, note, done
    }

    mutating func letters(_ rows: [DeadLetterRow], caption: String) {
        let columns: [TableColumn] = [
            .text("Reason"), .text("Letter"), .text("Failed"), .text("State"), .text("Bundle ID"),
            .text("Transaction"), .text("Stage"), .text("Detail"),
        ]
        table(caption, columns) { html in
            for row in rows {
                html.element("tr") { html in
                    html.element("td") { html in
                        html.reason(row.reason)
                        if row.warning != nil { html.tag("doubtful") }
                    }
                    html.element("th", [Attribute("scope", "row")]) {
                        $0.letter(row.id, isRow: true)
                    }
                    html.element("td") { $0.time(row.failedAt) }
                    html.element("td") { $0.tag(row.state.rawValue) }
                    html.element("td") { $0.optional(row.identifiers.bundleID, bytesMax: 60) }
                    html.element("td") {
                        $0.optional(row.identifiers.transactionID, bytesMax: 40)
                    }
                    html.element("td") { $0.foreign(row.stage, bytesMax: 40) }
                    html.element("td", [.class("wide")]) { $0.foreign(row.detail, bytesMax: 160) }
                }
            }
        }
    }

    mutating func groups(_ groups: [DeadLetterGroup], caption: String) {
        let columns: [TableColumn] = [
            .text("Reason"), .number("Open"), .number("Letters"),
            .text("Last \(DeadLetterGroupTable.trendHours) h"), .text("Bundle ID"),
            .text("Leaf certificate"), .text("Source"), .text("First"), .text("Last"),
            .text("Group"),
        ]
        table(caption, columns) { html in
            for group in groups {
                html.element("tr") { $0.group(group) }
            }
        }
    }

    private mutating func group(_ group: DeadLetterGroup) {
        element("th", [Attribute("scope", "row")]) { html in
            let link = LocalLink("groups", group.id)
            html.element("a", [.href(link), Attribute("data-row", nil)]) { html in
                if RefusalReason(rawValue: group.reason) != nil {
                    html.breakable(group.reason)
                } else {
                    html.element("code") { $0.foreign(group.reason, bytesMax: 80) }
                }
            }
        }
        number(group.openLetters)
        number(group.letters)
        element("td") { html in
            html.trend(group)
            html.text(", \(Quantity.grouped(group.before)) before")
        }
        element("td") { $0.optional(group.bundleID, bytesMax: 60) }
        element("td", [.class("mono")]) { html in
            html.optional(group.leaf.map { String($0.prefix(12)) })
        }
        element("td") { html in
            html.foreign(group.sourceTopic, bytesMax: 60)
            if let producer = group.producer {
                html.text(" by ")
                html.foreign(producer, bytesMax: 60)
            }
        }
        element("td") { $0.time(group.firstAt) }
        element("td") { $0.time(group.lastAt) }
        element("td", [.class("mono")], text: String(group.id.prefix(8)))
    }

    /// The letters of the last hours, with a sign that compares them with as many hours before.
    mutating func trend(_ group: DeadLetterGroup) {
        let (word, sign) =
            group.recent > group.before
            ? ("up", "▲") : group.recent < group.before ? ("down", "▼") : ("even", "=")
        element("span", [.class(word)]) { html in
            html.element("span", [Attribute("aria-hidden", "true")], text: "\(sign) ")
            html.text(Quantity.grouped(group.recent))
        }
    }
}
