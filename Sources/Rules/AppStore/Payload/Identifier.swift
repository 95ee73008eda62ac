package import JSON

/// An external name of a user, a product, a transaction, an app, an entitlement or a currency.
///
/// Identifiers are compared, ordered and hashed by their UTF-8, as in PostgreSQL, Kafka and Apple's systems. `String`
/// equates canonically equivalent texts: users named "é" in one and in two code points would become one user with the
/// purchases of both.
///
/// A single type serves all names, because only their comparison is risky; labels distinguish a user from a product.
package struct Identifier: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var utf8: String.UTF8View { text.utf8 }
    package var isEmpty: Bool { text.isEmpty }

    package static func == (left: Identifier, right: Identifier) -> Bool {
        let (leftText, rightText) = (left.utf8, right.utf8)
        let (left, right) = (leftText.span.bytes, rightText.span.bytes)
        guard left.byteCount == right.byteCount else { return false }
        var offset = 0
        // Compares words of eight bytes: keys are compared for every record.
        while offset + 8 <= left.byteCount {
            let word = unsafe left.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let other = unsafe right.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if word != other { return false }
            offset += 8
        }
        while offset < left.byteCount {
            let byte = unsafe left.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            if unsafe byte != right.unsafeLoad(fromByteOffset: offset, as: UInt8.self) { return false }
            offset += 1
        }
        return true
    }

    package func hash(into hasher: inout Hasher) {
        let utf8 = utf8
        unsafe utf8.span.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension Identifier {
    /// Reads an identifier that a person or a service enters.
    ///
    /// `nil` for a text that is too long, or that looks like another text: a trailing space or a bidirectional control
    /// is invisible. PostgreSQL's function `is_identifier` has the same rule.
    package init?(entering text: String) {
        let scalars = text.unicodeScalars
        guard Self.entryBytes.contains(text.utf8.count), scalars.first?.properties.isWhitespace == false,
            scalars.last?.properties.isWhitespace == false,
            !scalars.contains(where: { $0.properties.generalCategory == .control || $0.properties.isBidiControl })
        else { return nil }
        self.init(text)
    }

    private static let entryBytes = 1...255

    package static let entryRule =
        "1 to \(entryBytes.upperBound) bytes without control characters, bidirectional controls, "
        + "and blanks at an end"
}

extension Identifier: Comparable {
    /// Compares in the order of `COLLATE "C"`.
    package static func < (left: Identifier, right: Identifier) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

extension Identifier: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { text }
}

extension JSONValue {
    /// The string value as an identifier.
    ///
    /// `nil` for any other value.
    package var identifier: Identifier? { string.map { Identifier($0) } }
}

extension JSONWriter {
    package mutating func string(_ identifier: Identifier) { string(identifier.text) }

    /// Writes the member only if the identifier is not `nil`.
    package mutating func optionalString(_ name: StaticString, _ identifier: Identifier?) {
        optionalString(name, identifier?.text)
    }
}
