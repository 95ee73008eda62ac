package import JSON

/// A string of a payload, decoded from the payload's bytes when it is needed.
package struct PayloadText: Sendable {
    private let value: JSONValue

    /// - Parameter value: nil is returned where it is not a string, or not Unicode.
    package init?(_ value: JSONValue) {
        guard value.kind == .string else { return nil }
        guard value.plainStringRange != nil || value.stringBytes != nil else { return nil }
        self.value = value
    }

    package var string: String {
        value.string ?? ""
    }

    /// The content in UTF-8, escapes replaced.
    package var bytes: [UInt8] {
        value.stringBytes ?? []
    }

    package var byteCount: Int {
        value.plainStringRange?.count ?? bytes.count
    }

    /// Whether the content is exactly these bytes; canonical equivalence counts for nothing.
    package func equals(_ text: StaticString) -> Bool {
        value.isString(text)
    }

    @_disfavoredOverload
    package func equals(_ text: String) -> Bool {
        value.isString(text)
    }
}

/// An `appAccountToken`: a UUID that the app chose, compared without case.
package struct AccountToken: Hashable, Comparable, Sendable {
    /// The UUID in lower case.
    package let canonical: String

    /// Nil when the text is not a UUID of the form 8-4-4-4-12.
    package init?(_ text: String) {
        let utf8 = text.utf8
        guard utf8.count == Self.length else { return nil }
        var isLowerCase = true
        for (index, byte) in utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "-") where Self.isHyphen(index): break
            case _ where Self.isHyphen(index): return nil
            case UInt8(ascii: "0")...UInt8(ascii: "9"): break
            case UInt8(ascii: "a")...UInt8(ascii: "f"): break
            case UInt8(ascii: "A")...UInt8(ascii: "F"): isLowerCase = false
            default: return nil
            }
        }
        canonical = isLowerCase ? text : text.lowercased()
    }

    init?(_ text: PayloadText) {
        guard text.byteCount == Self.length else { return nil }
        self.init(text.string)
    }

    package static func < (left: AccountToken, right: AccountToken) -> Bool {
        left.canonical < right.canonical
    }

    private static let length = 36

    private static func isHyphen(_ index: Int) -> Bool {
        index == 8 || index == 13 || index == 18 || index == 23
    }
}
