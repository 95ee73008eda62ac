import AppStore
import DeadLetters
import HTTP
import Store

extension HTML {
    /// An instant in UTC, to the second.
    mutating func time(_ instant: Timestamp) {
        let seconds = Timestamp(milliseconds: instant.wholeSeconds * 1000)
        element("time", [Attribute("datetime", instant.description), .class("time")]) { html in
            html.text(String(seconds.description.map { $0 == "T" ? " " : $0 }.filter { $0 != "Z" }))
        }
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
        element("a", [.href(LocalLink("help", fragment: reason))]) { html in
            html.element("code", text: reason)
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
            .text("Letter"), .text("Failed (UTC)"), .text("Reason"), .text("State"),
            .text("Bundle ID"), .text("Transaction"), .text("Stage"), .text("Detail"),
        ]
        table(caption, columns) { html in
            for row in rows {
                html.element("tr") { html in
                    html.element("th", [Attribute("scope", "row")]) {
                        $0.letter(row.id, isRow: true)
                    }
                    html.element("td") { $0.time(row.failedAt) }
                    html.element("td") { html in
                        html.reason(row.reason)
                        if row.warning != nil { html.tag("doubtful") }
                    }
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
            .text("Group"), .number("Letters"), .number("Open"), .text("Trend, 6 h"),
            .text("Reason"), .text("Bundle ID"), .text("Leaf certificate"), .text("Source"),
            .text("First (UTC)"), .text("Last (UTC)"),
        ]
        table(caption, columns) { html in
            for group in groups {
                html.element("tr") { $0.group(group) }
            }
        }
    }

    private mutating func group(_ group: DeadLetterGroup) {
        element("th", [Attribute("scope", "row")]) { html in
            let link = LocalLink("search", query: [HTTPItem("group", group.id)])
            html.element("a", [.class("mono"), .href(link), Attribute("data-row", nil)]) { html in
                html.text(String(group.id.prefix(8)))
            }
        }
        number(group.letters)
        number(group.openLetters)
        element("td") { $0.trend(recent: group.recent, before: group.before) }
        element("td") { $0.reason(group.reason) }
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
    }

    private mutating func trend(recent: Int64, before: Int64) {
        let (word, sign) =
            recent > before ? ("up", "▲") : recent < before ? ("down", "▼") : ("even", "–")
        element("span", [.class(word)]) { html in
            html.element("span", [Attribute("aria-hidden", "true")], text: "\(sign) ")
            html.text("\(Figure.count(recent)) after \(Figure.count(before))")
        }
    }

    /// The actions, the last first.
    mutating func actions(_ actions: [DeadLetterAction], caption: String, withLetters: Bool) {
        let columns: [TableColumn] =
            [.text("When (UTC)"), .text("Who"), .text("What")]
            + (withLetters ? [.text("Letter")] : [])
            + [.text("Replay"), .text("Why"), .text("Detail")]
        table(caption, columns) { html in
            for action in actions {
                html.element("tr") { html in
                    html.element("td") { $0.time(action.at) }
                    html.element("th", [Attribute("scope", "row")]) {
                        $0.foreign(action.who, bytesMax: 80)
                    }
                    html.element("td") { $0.tag(action.kind.rawValue) }
                    if withLetters {
                        html.element("td") { html in
                            if let id = action.deadLetterID {
                                html.letter(id)
                            } else {
                                html.optional(nil)
                            }
                        }
                    }
                    html.element("td") { html in
                        if let replay = action.replay {
                            let link = LocalLink("replays", String(replay))
                            html.element("a", [.href(link)], text: String(replay))
                        } else {
                            html.optional(nil)
                        }
                    }
                    html.element("td", [.class("wide")]) { $0.optional(action.why, bytesMax: 500) }
                    html.element("td") { $0.optional(action.detail, bytesMax: 200) }
                }
            }
        }
    }
}
