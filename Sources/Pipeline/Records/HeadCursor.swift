import AppStore
import Entitlements
import JSON

/// The members of a head in the order in which a stage writes them, read without parsing a document.
///
/// Anything unexpected ends the reading with an error without details: the head is then parsed as a document by
/// `HeadReader`, which finds the cause. A later version's new member, another order or a non-ASCII name therefore
/// costs time and has no other effect, and one type decides what is refused, and why. `HeadReader` reads the same
/// values from any head that this type reads to the end.
struct HeadCursor: HeadMembers {
    private var text: JSONCursor

    init(_ value: [UInt8]) throws(ObservationError) {
        text = JSONCursor(value)
        guard text.passOpeningBrace() else { throw Self.unexpected }
    }

    private static let unexpected = ObservationError.member("")

    var passedBytes: Int? { text.position }

    /// The position of the next member, even if no caller reads that member.
    var end: Int { text.position }

    mutating func optionalObject<Value>(
        _ name: StaticString, _ read: (inout HeadCursor) throws(ObservationError) -> Value
    ) throws(ObservationError) -> Value? {
        guard text.pass(name: name) else { return nil }
        guard text.passOpeningBrace() else { throw Self.unexpected }
        let value = try read(&self)
        guard text.passClosingBrace() else { throw Self.unexpected }
        return value
    }

    /// Skips the name of a member that is present and not null.
    private mutating func pass(_ name: StaticString) -> Bool { text.pass(name: name) && !text.passNull() }

    mutating func optionalString(_ name: StaticString) throws(ObservationError) -> String? {
        guard pass(name) else { return nil }
        guard let string = text.string() else { throw Self.unexpected }
        return string
    }

    mutating func optionalInt64(_ name: StaticString) throws(ObservationError) -> Int64? {
        guard pass(name) else { return nil }
        guard let number = text.int64() else { throw Self.unexpected }
        return number
    }

    mutating func optionalBool(_ name: StaticString) throws(ObservationError) -> Bool? {
        guard pass(name) else { return nil }
        guard let bool = text.bool() else { throw Self.unexpected }
        return bool
    }

    mutating func optionalText<Value>(_ name: StaticString, _ convert: (Span<UInt8>) -> Value?) throws(ObservationError)
        -> Value?
    {
        guard pass(name) else { return nil }
        guard let value = text.withString(convert) else { throw Self.unexpected }
        return value
    }

    mutating func optionalIdentifier(_ name: StaticString) throws(ObservationError) -> Identifier? {
        try optionalText(name) { text in headIdentifierBytes.contains(text.count) ? Identifier(utf8: text) : nil }
    }

    mutating func optionalProductType(_ name: StaticString) throws(ObservationError) -> ProductType? {
        try optionalText(name) { text in headIdentifierBytes.contains(text.count) ? ProductType(utf8: text) : nil }
    }

    /// Returns `nil` without skipping items, so that the object does not end if there are any: items are rare, and
    /// `HeadReader` reads their separate format.
    mutating func optionalItems(_ name: StaticString) throws(ObservationError) -> [CommerceItem]? { nil }

    func missing(_ member: StaticString) -> ObservationError { Self.unexpected }
}
