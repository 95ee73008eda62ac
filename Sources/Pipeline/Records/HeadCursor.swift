import AppStore
import Entitlements
import JSON

/// The members of a head in the order in which a stage writes them, read without a document.
///
/// Anything unexpected ends the reading with an error without details: the head is then read as a
/// document by `HeadReader`, which finds the cause. So a later version's new member, another order
/// or a name with an umlaut cost time and change nothing, and one type decides what is refused, and
/// why. Any head that this reads to the end, `HeadReader` reads as the same.
struct HeadCursor: HeadMembers {
    private var text: JSONCursor

    init(_ value: [UInt8]) throws(ObservationError) {
        text = JSONCursor(value)
        guard text.passOpeningBrace() else { throw Self.unexpected }
    }

    private static let unexpected = ObservationError.member("")

    var passedBytes: Int? { text.position }

    /// The position of the next member, even if it is not wanted.
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

    mutating func optionalProductType(_ name: StaticString) throws(ObservationError) -> ProductType? {
        try optionalText(name) { text in headIdentifierBytes.contains(text.count) ? ProductType(utf8: text) : nil }
    }

    /// Does not skip items, so that the object does not end where there are any: they are rare, and
    /// have a form of their own, which `HeadReader` reads.
    mutating func optionalItems(_ name: StaticString) throws(ObservationError) -> [CommerceItem]? { nil }

    func missing(_ member: StaticString) -> ObservationError { Self.unexpected }
}
