import AppStore
import Commands
import DeadLetters
import HTTP
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
        instant.toSecond.description.replacing("T", with: " ").replacing("Z", with: " UTC")
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
        guard RefusalReason(rawValue: reason) != nil else { return name(of: reason) }
        element("a", [.href(LocalLink("help", fragment: reason))]) { $0.name(of: reason) }
    }

    /// A reason as code; one of ours may break after an underscore.
    private mutating func name(of reason: String) {
        guard RefusalReason(rawValue: reason) != nil else {
            return element("code") { $0.foreign(reason, bytesMax: 80) }
        }
        element("code", [.class("name")]) { html in
            let parts = reason.split(separator: "_")
            for part in parts.dropLast() {
                html.text("\(part)_")
                html.void("wbr")
            }
            html.text(parts.last.map(String.init) ?? "")
        }
    }

    /// An untrusted text, or a dash.
    mutating func optional(_ text: String?, bytesMax: Int = 255) {
        if let text { foreign(text, bytesMax: bytesMax) } else { element("span", [.class("soft")], text: "–") }
    }

    /// Writes how far the index has read, above the values that come from it.
    mutating func standing(_ standing: IndexStanding) {
        if standing.isStopped { return notice("From the index, \(standing.text)", .alert) }
        element("p", [.class("soft")]) { html in
            html.text("From the index ")
            if let asOf = standing.asOf {
                html.text("as of ")
                html.time(asOf)
            }
            switch standing.unread {
            case nil: html.text("; Kafka does not say how many letters are not read yet.")
            case 0: html.text(", all read.")
            case let unread?: html.text(", \(Quantity.counted(unread, "letter")) not read yet.")
            }
        }
    }

    mutating func notice(_ text: String, _ kind: NoticeKind) {
        let role = kind == .alert ? "alert" : "status"
        element("p", [.class(kind.rawValue), Attribute("role", role)], text: text)
    }

    enum NoticeKind: String { case alert, note, done }

    mutating func letters(_ rows: [DeadLetterRow], caption: String) {
        table(
            caption, rows,
            [
                PageColumn("Reason") { html, row in
                    html.reason(row.reason)
                    if row.warning != nil { html.tag("doubtful") }
                }, .row("Letter") { $0.letter($1.id, isRow: true) }, PageColumn("Failed") { $0.time($1.failedAt) },
                PageColumn("State") { $0.tag($1.state.rawValue) },
                .foreign("Bundle ID", bytesMax: 60, \.identifiers.bundleID),
                .foreign("Transaction", bytesMax: 40, \.identifiers.transactionID),
                .foreign("Stage", bytesMax: 40, \.stage), .foreign("Detail", "wide", bytesMax: 160, \.detail),
            ])
    }

    mutating func groups(_ groups: [DeadLetterGroup], caption: String) {
        table(
            caption, groups,
            [
                .row("Reason") { $0.group($1) }, .number("Open", \.openLetters), .number("Letters", \.letters),
                PageColumn("Last \(DeadLetterGroupTable.trendHours) h") { html, group in
                    html.trend(group)
                    html.text(", \(Quantity.grouped(group.before)) before")
                }, .foreign("Bundle ID", bytesMax: 60, \.bundleID),
                .foreign("Leaf certificate", "mono") { $0.leaf.map { String($0.prefix(12)) } },
                PageColumn("Source") { html, group in
                    html.foreign(group.sourceTopic, bytesMax: 60)
                    if let producer = group.producer {
                        html.text(" by ")
                        html.foreign(producer, bytesMax: 60)
                    }
                }, PageColumn("First") { $0.time($1.firstAt) }, PageColumn("Last") { $0.time($1.lastAt) },
                PageColumn("Group", "mono") { $0.text(String($1.id.prefix(8))) },
            ])
    }

    /// A group's reason, which links to the group.
    private mutating func group(_ group: DeadLetterGroup) {
        let link = LocalLink("groups", group.id)
        element("a", [.href(link), Attribute("data-row", nil)]) { $0.name(of: group.reason) }
    }

    /// The letters of the last hours, with a sign that compares them with as many hours before.
    mutating func trend(_ group: DeadLetterGroup) {
        let (word, sign) =
            group.recent > group.before ? ("up", "▲") : group.recent < group.before ? ("down", "▼") : ("even", "=")
        element("span", [.class(word)]) { html in
            html.element("span", [Attribute("aria-hidden", "true")], text: "\(sign) ")
            html.text(Quantity.grouped(group.recent))
        }
    }
}
