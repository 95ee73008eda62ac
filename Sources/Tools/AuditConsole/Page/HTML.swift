import Commands
import DeadLetters
import HTTP
import Platform
import Settings

/// A part of a page that escapes all text.
///
/// Markup comes only from names in this program's source (`StaticString`). Everything else is text
/// and is escaped, in elements and attributes alike. Control characters, and characters that could
/// reorder or hide text, are written as `\u{…}` (`Printable`). In the value of a field they are
/// written as references, so that the form returns the value unchanged.
struct HTML: Sendable {
    struct Attribute: Sendable {
        let name: StaticString
        /// The value before it is escaped.
        ///
        /// `nil` for an attribute without a value, such as `disabled`.
        let value: String?
        /// Whether the browser must receive the value without any change.
        var isExact = false

        init(_ name: StaticString, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    private var markup = ""

    init() {}

    init(_ content: (inout HTML) -> Void) { content(&self) }

    /// The whole page's bytes, doctype first.
    var document: [UInt8] { Array(("<!doctype html>\n" + markup).utf8) }

    mutating func append(_ other: HTML) { markup += other.markup }

    /// Writes a text on one line.
    mutating func text(_ text: String) { markup += Self.escaped(Printable.line(text)) }

    /// Writes a text with line breaks, for a `pre`.
    mutating func lines(_ text: String) { markup += Self.escaped(Printable.lines(text)) }

    /// Writes an untrusted text.
    ///
    /// The direction of the text does not affect its surroundings. A long text is cut and followed
    /// by the number of hidden bytes.
    mutating func foreign(_ text: String, bytesMax: Int = foreignBytesMax) {
        let shown = ShownBytes.beginning(text, bytesMax, mark: "")
        let rest = text.utf8.count - shown.utf8.count
        element("bdi") { $0.text(shown) }
        if rest > 0 {
            let count = Quantity.grouped(rest)
            element("span", [.class("cut")], text: " … \(count) more bytes not shown")
        }
    }

    static let foreignBytesMax = 2048

    mutating func element(_ name: StaticString, _ attributes: [Attribute] = [], content: (inout HTML) -> Void) {
        open(name, attributes)
        content(&self)
        markup += "</\(name)>"
    }

    mutating func element(_ name: StaticString, _ attributes: [Attribute] = [], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    mutating func link(_ text: String, to link: LocalLink, class name: String? = nil) {
        element("a", (name.map { [.class($0)] } ?? []) + [.href(link)], text: text)
    }

    /// An element without content, such as `input`.
    mutating func void(_ name: StaticString, _ attributes: [Attribute] = []) { open(name, attributes) }

    private mutating func open(_ name: StaticString, _ attributes: [Attribute]) {
        markup += "<\(name)"
        for attribute in attributes {
            markup += " \(attribute.name)"
            if let value = attribute.value {
                let isExact = attribute.isExact
                let text = isExact ? Self.referenced(value) : Self.escaped(Printable.line(value))
                markup += "=\"\(text)\""
            }
        }
        markup += ">"
    }

    /// The text of an attribute, with references in place of the characters that `Printable` rewrites.
    ///
    /// HTML reads references to U+0080…U+009F as other characters, so these characters stay as they are.
    private static func referenced(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { markup, scalar in
            let text = String(scalar)
            if (0x80...0x9F).contains(scalar.value) || Printable.line(text) == text {
                markup += escaped(text)
            } else {
                markup += "&#x\(String(scalar.value, radix: 16));"
            }
        }
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension HTML.Attribute {
    static func `class`(_ name: String) -> Self { Self("class", name) }
    static func id(_ name: String) -> Self { Self("id", name) }
    static func name(_ name: String) -> Self { Self("name", name) }
    static func type(_ name: String) -> Self { Self("type", name) }
    /// The value of a field.
    static func value(_ text: String) -> Self {
        var attribute = Self("value", text)
        attribute.isExact = true
        return attribute
    }
    static func label(_ text: String) -> Self { Self("aria-label", text) }
    static func href(_ link: LocalLink) -> Self { Self("href", link.text) }
    /// The attribute, or none if it is not set.
    static func flag(_ name: StaticString, _ isSet: Bool) -> [Self] { isSet ? [Self(name, nil)] : [] }
}

/// A link to a page of the console; its parts can neither lead to another site nor contain a script.
struct LocalLink: Hashable, Sendable {
    private let path: [String]
    private let query: [HTTPItem]
    private let fragment: String?

    init(_ path: String..., query: [HTTPItem] = [], fragment: String? = nil) {
        self.path = path
        self.query = query
        self.fragment = fragment
    }

    /// A link to the page that was requested.
    init(to request: HTTPRequest) {
        path = request.path.split(separator: "/").map(String.init)
        query = request.queryItems
        fragment = nil
    }

    /// Reads a path and a query that `text` has written.
    ///
    /// `nil` if the link does not begin with a slash, or is longer than 4,096 bytes.
    init?(parsing text: String) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, first.hasPrefix("/"), text.utf8.count <= 4096 else { return nil }
        path = first.split(separator: "/").map { HTTPForm.items(Array("x=\($0)".utf8)) }.compactMap { $0.first?.value }
        query = parts.count == 2 ? HTTPForm.items(Array(parts[1].utf8)) : []
        fragment = nil
    }

    var text: String {
        let place = "/" + path.map(\.percentEncoded).joined(separator: "/")
        let question = query.isEmpty ? "" : "?" + HTTPForm.encoded(query)
        return place + question + (fragment.map { "#" + $0.percentEncoded } ?? "")
    }
}
