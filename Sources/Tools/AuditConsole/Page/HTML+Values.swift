import AppStore
import DeadLetters
import HTTP
import JSON
import Commands

extension HTML {
    /// An instant in UTC, to the second.
    ///
    /// The pages' script replaces the text by the time that has passed, and shows the text on
    /// hover. A page that is saved, printed or without a script stays correct.
    mutating func time(_ instant: Timestamp) {
        let attributes = [Attribute("datetime", instant.description), .class("time")]
        element("time", attributes, text: Self.utc(instant))
    }

    /// The text of an instant, such as `2026-01-31 12:00:00 UTC`.
    static func utc(_ instant: Timestamp) -> String {
        instant.toSecond.description.replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    /// Writes the value of an answer's member in the form that fits its kind and its name.
    ///
    /// - Parameters:
    ///   - shown: the shortened text of a table's cell, shown instead of the value.
    ///   - isRow: whether the value identifies its row.
    mutating func value(_ name: String, _ content: JSONContent, shown: String? = nil, isRow: Bool = false) {
        switch content {
        case .object: facts(content)
        case .array(let elements): list(name, elements)
        case .null: optional(nil)
        case .int(let number) where ["plan", "replay"].contains(name):
            value(name, text: "\(number)", shown: shown, isRow: isRow)
        case .bool, .int, .double, .raw: plain("", shown ?? content.lines.joined())
        case .string(let text), .time(let text, _): value(name, text: text, shown: shown, isRow: isRow)
        }
    }

    private mutating func value(_ name: String, text: String, shown: String?, isRow: Bool) {
        if text.utf8.count > 10, let instant = Timestamp(iso8601: text) { return time(instant) }
        if Self.tags.contains(name) { return tag(text) }
        guard let link = LocalLink(member: name, text) else {
            return plain(name, shown ?? text, isCopied: shown == nil)
        }
        let attributes: [Attribute] = [.href(link)] + (isRow ? [Attribute("data-row", nil)] : [])
        let isLetter = shown != nil && link == LocalLink("letters", text)
        element("a", attributes) { $0.plain(name, isLetter ? String(text.prefix(12)) : shown ?? text) }
    }

    private static let tags: Set = ["action", "class", "outcome", "state", "verdict"]

    /// Writes an untrusted text, as code if it is a value that people copy or compare.
    private mutating func plain(_ name: String, _ text: String, isCopied: Bool = false) {
        if name == "reason", RefusalReason(rawValue: text) != nil { return self.name(of: text) }
        guard name.hasSuffix("sha256") || Self.codes.contains(name) else {
            return foreign(text, bytesMax: Self.cellBytesMax)
        }
        let copied = isCopied && name.hasPrefix("source") ? [Attribute("data-copy", name)] : []
        element("code", copied) { $0.foreign(text, bytesMax: Self.cellBytesMax) }
    }

    private static let codes: Set = [
        "chain_previous", "dead_letter_id", "group", "id", "letters", "position", "raw", "request_id", "source",
    ]
    private static let cellBytesMax = 8 << 10
    private static let elementsShown = 500

    /// Writes several values: objects one below the other, faults as paragraphs, many letters behind a summary.
    private mutating func list(_ name: String, _ elements: [JSONContent]) {
        if let fault = Self.faults[name] {
            for element in elements { self.element("p", [.class(fault)], text: element.text ?? "") }
            return
        }
        guard !elements.isEmpty else { return optional(nil) }
        let isFolded = name == "letters" && elements.count > 1
        guard isFolded || elements.allSatisfy({ $0.members.isEmpty }) else { return elements.forEach { facts($0) } }
        guard isFolded else {
            for (index, element) in elements.enumerated() {
                if index > 0 { text(", ") }
                value(name, element, shown: element.text)
            }
            return
        }
        element("details") { html in
            html.element("summary", text: "\(Quantity.grouped(elements.count)) letters")
            html.element("ul", [.class("letters")]) { html in
                for element in elements.prefix(Self.elementsShown) {
                    html.element("li") { $0.value(name, element, shown: element.text) }
                }
            }
            let rest = elements.count - Self.elementsShown
            if rest > 0 { html.element("p", [.class("cut")], text: "\(Quantity.grouped(rest)) more not shown") }
        }
    }

    /// The CSS classes of faults: `wrong` names those that led to the refusal.
    private static let faults = ["wrong": "alert", "also_wrong": "hint"]

    /// Writes lines of text, with the date beside each time in milliseconds.
    mutating func block(_ text: String, label: String) {
        let attributes: [Attribute] = [
            Attribute("tabindex", "0"), Attribute("role", "region"), .label(label), Attribute("dir", "ltr"),
        ]
        element("pre", attributes) { html in
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                html.lines(index > 0 ? "\n\(line)" : String(line))
                guard let date = Self.date(line) else { continue }
                html.element("time", [.class("beside"), Attribute("datetime", date.description)], text: Self.utc(date))
            }
        }
    }

    /// The date in a line of JSON whose member's name is that of a time in milliseconds.
    private static func date(_ line: Substring) -> Timestamp? {
        guard line.utf8.count < 200 else { return nil }
        let match = line.wholeMatch(of: /\s*"\w*(?:[dD]ate|[tT]imestamp)": (\d{10,14}),?/)
        return match.flatMap { Int64($0.1) }.flatMap { Timestamp(boundedMilliseconds: $0) }
    }

    /// Writes a known reason as code that may break after an underscore.
    private mutating func name(of reason: String) {
        element("code", [.class("name")]) { html in
            let parts = reason.split(separator: "_")
            for part in parts.dropLast() {
                html.text("\(part)_")
                html.void("wbr")
            }
            html.text(parts.last.map(String.init) ?? "")
        }
    }

    /// Writes an untrusted text, or a dash for `nil`.
    mutating func optional(_ text: String?, bytesMax: Int = 255) {
        if let text { foreign(text, bytesMax: bytesMax) } else { element("span", [.class("soft")], text: "–") }
    }

    /// Writes the index's progress, above the values that come from the index.
    mutating func standing(_ standing: IndexStanding) {
        let text = "From the index, \(standing.text)"
        standing.isStopped ? notice(text, .alert) : element("p", [.class("soft")], text: text)
    }

    mutating func notice(_ text: String, _ kind: NoticeKind) {
        let role = kind == .alert ? "alert" : "status"
        element("p", [.class(kind.rawValue), Attribute("role", role)], text: text)
    }

    enum NoticeKind: String { case alert, note, done }
}

extension LocalLink {
    /// The page about a member's value, or the search for letters with the same value.
    ///
    /// `nil` for members that have neither.
    init?(member name: String, _ text: String) {
        switch name {
        case "dead_letter_id", "id", "letters", "refused_as", "replay_of": self.init("letters", text)
        case "group": self.init("groups", text)
        case "replay": self.init("replays", text)
        case "plan": self.init("plans", text)
        case "request_id": self.init("refunds", text)
        case "reason" where RefusalReason(rawValue: text) != nil: self.init("help", fragment: text)
        default:
            guard let filter = Self.filters[name] else { return nil }
            self.init("search", query: [HTTPItem(filter, text)])
        }
    }

    private static let filters = [
        "bundle_id": "bundle", "certificate": "certificate", "environment": "environment",
        "original_transaction_id": "transaction", "product_id": "product", "sha256": "certificate",
        "transaction_id": "transaction",
    ]
}
