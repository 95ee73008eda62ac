package import JSON

/// A string of a payload, decoded from the payload's bytes on demand.
package struct PayloadText: Sendable {
    private let value: JSONValue

    /// Makes a reference to a string of a payload.
    ///
    /// `nil` if the value is not a string, or not valid Unicode.
    package init?(_ value: JSONValue) {
        guard value.kind == .string else { return nil }
        guard value.plainStringRange != nil || value.stringBytes != nil else { return nil }
        self.value = value
    }

    package var string: String { value.string ?? "" }

    package var identifier: Identifier {
        guard let content = value.plainStringRange else { return Identifier(string) }
        return Identifier(utf8: value.documentBytes.span.extracting(content))
    }

    /// The content in UTF-8, unescaped.
    package var bytes: [UInt8] { value.stringBytes ?? [] }

    /// The length of the content in UTF-8, unescaped.
    package var byteCount: Int { value.plainStringRange?.count ?? bytes.count }

    /// The text as a UUID in either case.
    ///
    /// `nil` for any other text and for the nil UUID.
    var accountToken: AccountToken? {
        guard let content = value.plainStringRange else { return AccountToken(bytes.span) }
        return AccountToken(value.documentBytes.span.extracting(content))
    }

    /// Whether the text is the nil UUID, which means no token.
    var isPlaceholderToken: Bool {
        guard let content = value.plainStringRange else { return AccountToken.isPlaceholder(bytes.span) }
        return AccountToken.isPlaceholder(value.documentBytes.span.extracting(content))
    }

    var productType: ProductType {
        guard let content = value.plainStringRange else { return ProductType(utf8: bytes.span) }
        return ProductType(utf8: value.documentBytes.span.extracting(content))
    }

    var ownershipType: OwnershipType { OwnershipType(rawValue: string) }

    /// Whether the text has the same bytes; unlike `==`, this distinguishes canonical equivalents.
    package func equals(_ text: StaticString) -> Bool { value.isString(text) }

    // The overload is disfavored, so that a literal selects the overload above.
    @_disfavoredOverload package func equals(_ text: String) -> Bool { value.isString(text) }
}
