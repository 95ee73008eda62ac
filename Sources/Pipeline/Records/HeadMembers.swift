import AppStore
import Entitlements
import OpenSSL

/// The members of an object in an observation's head, read by name.
///
/// The readers are strict, unlike the readers of Apple's payloads: a stage wrote the head, so a value that no stage
/// writes is a fault of the record. The bounds of the numbers prevent an overflow of later sums.
///
/// Callers read the members in the order of writing, so that `HeadCursor` can read them too.
protocol HeadMembers: FactMemberVisitor, Sendable where Failure == ObservationError {
    /// Reads an object with `read`.
    ///
    /// `nil` if the member is absent. Null counts as a value of another type.
    mutating func optionalObject<Value>(_ name: StaticString, _ read: (inout Self) throws(ObservationError) -> Value)
        throws(ObservationError) -> Value?

    /// Reads a string.
    ///
    /// `nil` if the member is absent or null, as in the following functions.
    mutating func optionalString(_ name: StaticString) throws(ObservationError) -> String?

    mutating func optionalInt64(_ name: StaticString) throws(ObservationError) -> Int64?

    mutating func optionalBool(_ name: StaticString) throws(ObservationError) -> Bool?

    /// Converts a string without escapes; the member is malformed if `convert` returns `nil`.
    mutating func optionalText<Value>(_ name: StaticString, _ convert: (Span<UInt8>) -> Value?) throws(ObservationError)
        -> Value?

    /// Reads text of 1 to 255 bytes, as the verifier requires of all keys.
    mutating func optionalIdentifier(_ name: StaticString) throws(ObservationError) -> Identifier?

    mutating func optionalProductType(_ name: StaticString) throws(ObservationError) -> ProductType?

    mutating func optionalItems(_ name: StaticString) throws(ObservationError) -> [CommerceItem]?

    /// The end of the members read so far.
    ///
    /// `nil` if other members may precede it.
    var passedBytes: Int? { get }

    /// The position of the payloads after all members were read, if the text is an observation.
    var end: Int { get }

    /// Returns the error of a member that is missing or malformed.
    func missing(_ member: StaticString) -> ObservationError
}

extension HeadMembers {
    mutating func string(_ name: StaticString) throws(ObservationError) -> String {
        guard let text = try optionalString(name) else { throw missing(name) }
        return text
    }

    mutating func identifier(_ name: StaticString) throws(ObservationError) -> Identifier {
        guard let text = try optionalIdentifier(name) else { throw missing(name) }
        return text
    }

    mutating func optionalInt<Number: FixedWidthInteger>(_ name: StaticString, in bounds: ClosedRange<Number>)
        throws(ObservationError) -> Number?
    {
        guard let value = try optionalInt64(name) else { return nil }
        guard let number = Number(exactly: value), bounds.contains(number) else { throw missing(name) }
        return number
    }

    mutating func int<Number: FixedWidthInteger>(_ name: StaticString, in bounds: ClosedRange<Number>)
        throws(ObservationError) -> Number
    {
        guard let number = try optionalInt(name, in: bounds) else { throw missing(name) }
        return number
    }

    /// Reads a date in the years 1 to 9999, like the dates of payloads.
    mutating func optionalDate(_ name: StaticString) throws(ObservationError) -> Timestamp? {
        try optionalInt(name, in: Timestamp.bounds).map { Timestamp(milliseconds: $0) }
    }

    mutating func date(_ name: StaticString) throws(ObservationError) -> Timestamp {
        guard let date = try optionalDate(name) else { throw missing(name) }
        return date
    }

    mutating func digest(_ name: StaticString) throws(ObservationError) -> SHA256Digest {
        guard let digest = try optionalText(name, { SHA256Digest(hex: $0) }) else { throw missing(name) }
        return digest
    }
}

/// The allowed lengths of a text that stages use as a key.
let headIdentifierBytes = 1...255
