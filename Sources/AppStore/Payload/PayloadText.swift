package import JSON

/// A string of a payload, left in the payload's bytes until somebody asks for it.
package struct PayloadText: Sendable {
    private let value: JSONValue

    /// - Parameter value: nil is returned when it is no string, or no Unicode.
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
