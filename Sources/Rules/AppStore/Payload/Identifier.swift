package import JSON

/// An external name of a user, a product, a transaction, an app, an entitlement or a currency.
///
/// Identifiers are compared, ordered and hashed by their UTF-8, as in PostgreSQL, Kafka and Apple's systems. `String`
/// equates canonically equivalent texts: users named "é" in one and in two code points would become one user with the
/// purchases of both.
///
/// A single type serves all names, because only their comparison is risky; labels distinguish a user from a product.
package struct Identifier: Hashable, Sendable {
    /// The text; exactly those of at most 22 bytes are stored in place.
    ///
    /// Records are full of Apple's IDs. Those have 15 to 18 digits, and a `String` of more than 15 bytes is allocated
    /// and counts its references.
    private enum Storage {
        case inline(InlineText)
        case string(String)
    }

    private let storage: Storage

    package init(_ text: String) {
        let utf8 = text.utf8
        storage = InlineText(utf8.span).map { .inline($0) } ?? .string(text)
    }

    /// - Parameter utf8: well-formed UTF-8.
    package init(utf8: Span<UInt8>) {
        storage =
            InlineText(utf8).map { .inline($0) }
            ?? .string(unsafe utf8.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) })
    }

    package var text: String {
        switch storage {
        case .inline(let text): text.withUTF8 { unsafe String(decoding: $0, as: UTF8.self) }
        case .string(let text): text
        }
    }

    package func withUTF8<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        switch storage {
        case .inline(let text): return text.withUTF8 { unsafe body($0.span) }
        case .string(let text):
            let utf8 = text.utf8
            return body(utf8.span)
        }
    }

    package var byteCount: Int { withUTF8 { $0.count } }

    package var isEmpty: Bool { byteCount == 0 }

    package static func == (left: Identifier, right: Identifier) -> Bool {
        left.withUTF8 { left in right.withUTF8 { isEqual(left.bytes, $0.bytes) } }
    }

    private static func isEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
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
        withUTF8 { unsafe $0.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
    }
}

/// A text of at most 22 bytes.
private struct InlineText {
    private var bytes: (UInt64, UInt64, UInt32, UInt16) = (0, 0, 0, 0)
    private let count: UInt8

    private static let bytesMax = 22

    init?(_ utf8: Span<UInt8>) {
        guard utf8.count <= Self.bytesMax else { return nil }
        count = UInt8(utf8.count)
        unsafe withUnsafeMutableBytes(of: &self.bytes) { bytes in
            unsafe utf8.bytes.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
        }
    }

    func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafeBytes(of: self.bytes) { bytes in
            unsafe bytes.withMemoryRebound(to: UInt8.self) {
                unsafe body(UnsafeBufferPointer(rebasing: $0[..<Int(count)]))
            }
        }
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
        left.withUTF8 { left in
            right.withUTF8 { right in
                unsafe left.withUnsafeBufferPointer { left in
                    unsafe right.withUnsafeBufferPointer { unsafe left.lexicographicallyPrecedes($0) }
                }
            }
        }
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
    package mutating func string(_ identifier: Identifier) { identifier.withUTF8 { string(wellFormed: $0) } }

    /// Writes the member only if the identifier is not `nil`.
    package mutating func optionalString(_ name: StaticString, _ identifier: Identifier?) {
        guard let identifier else { return }
        key(name)
        string(identifier)
    }
}
