import AppStore
import Entitlements
import JSON
import OpenSSL

/// Typed access to the members of an observation's head, or of one object in it; a fault names the
/// member.
///
/// Strict, unlike the readers of Apple's payloads: what stands here a stage has written, so a value
/// that no stage writes is a fault of the record. No number that is read here makes a later sum
/// overflow.
struct HeadReader {
    private var members: JSONObjectReader
    /// Where the object stands in the head: at most two names, put together for a fault alone.
    private let path: (outer: StaticString?, name: StaticString?)

    init(
        _ value: JSONValue,
        path: (outer: StaticString?, name: StaticString?) = (nil, nil)
    ) throws(ObservationError) {
        guard let members = JSONObjectReader(value) else { throw .member("") }
        self.members = members
        self.path = path
    }

    /// Nil when the member is absent; null is another type.
    mutating func optionalObject(
        _ name: StaticString
    ) throws(ObservationError) -> HeadReader? {
        guard let index = members.index(of: name) else { return nil }
        guard members.kind(at: index) == .object else { throw missing(name) }
        return try HeadReader(members.value(at: index), path: (path.outer ?? path.name, name))
    }

    mutating func object(_ name: StaticString) throws(ObservationError) -> HeadReader {
        guard let object = try optionalObject(name) else { throw missing(name) }
        return object
    }

    mutating func optionalValue(_ name: StaticString) -> JSONValue? {
        index(of: name).map { members.value(at: $0) }
    }

    /// Nil where the member is absent or null.
    private mutating func index(of name: StaticString) -> JSONObjectReader.Index? {
        guard let index = members.index(of: name), !members.isNull(at: index) else { return nil }
        return index
    }

    mutating func optionalString(_ name: StaticString) throws(ObservationError) -> String? {
        guard let index = index(of: name) else { return nil }
        guard let text = members.string(at: index) else { throw missing(name) }
        return text
    }

    mutating func string(_ name: StaticString) throws(ObservationError) -> String {
        guard let text = try optionalString(name) else { throw missing(name) }
        return text
    }

    /// Text of 1 to 255 bytes, as the verifier requires of all that stages key by.
    mutating func optionalIdentifier(_ name: StaticString) throws(ObservationError) -> String? {
        guard let text = try optionalString(name) else { return nil }
        guard Self.identifierBytes.contains(text.utf8.count) else { throw missing(name) }
        return text
    }

    mutating func identifier(_ name: StaticString) throws(ObservationError) -> String {
        guard let text = try optionalIdentifier(name) else { throw missing(name) }
        return text
    }

    /// As `identifier`, where the text is often that of another member, which is used then.
    mutating func identifier(
        _ name: StaticString,
        likely other: String
    ) throws(ObservationError) -> String {
        guard let index = index(of: name), members.isString(other, at: index) else {
            return try identifier(name)
        }
        return other
    }

    mutating func optionalInt<Number: FixedWidthInteger>(
        _ name: StaticString,
        in bounds: ClosedRange<Number>
    ) throws(ObservationError) -> Number? {
        guard let index = index(of: name) else { return nil }
        guard let value = members.int64(at: index), let number = Number(exactly: value),
            bounds.contains(number)
        else { throw missing(name) }
        return number
    }

    mutating func int<Number: FixedWidthInteger>(
        _ name: StaticString,
        in bounds: ClosedRange<Number>
    ) throws(ObservationError) -> Number {
        guard let number = try optionalInt(name, in: bounds) else { throw missing(name) }
        return number
    }

    mutating func optionalBool(_ name: StaticString) throws(ObservationError) -> Bool? {
        guard let index = index(of: name) else { return nil }
        guard let bool = members.bool(at: index) else { throw missing(name) }
        return bool
    }

    /// A date in the years 1 to 9999, as payloads are read.
    mutating func optionalDate(_ name: StaticString) throws(ObservationError) -> Timestamp? {
        try optionalInt(name, in: Self.dates).map { Timestamp(milliseconds: $0) }
    }

    mutating func date(_ name: StaticString) throws(ObservationError) -> Timestamp {
        guard let date = try optionalDate(name) else { throw missing(name) }
        return date
    }

    mutating func digest(_ name: StaticString) throws(ObservationError) -> SHA256Digest {
        guard let index = index(of: name),
            let digest = members.withPlainString(at: index, { SHA256Digest(hex: $0) })
        else { throw missing(name) }
        return digest
    }

    mutating func optionalToken(_ name: StaticString) throws(ObservationError) -> AccountToken? {
        guard let index = index(of: name) else { return nil }
        guard let token = members.withPlainString(at: index, { AccountToken($0) })
        else { throw missing(name) }
        return token
    }

    mutating func optionalProductType(
        _ name: StaticString
    ) throws(ObservationError) -> ProductType? {
        guard let index = index(of: name) else { return nil }
        let plain = members.withPlainString(at: index) { text in
            Self.identifierBytes.contains(text.count) ? ProductType(utf8: text) : nil
        }
        if let plain { return plain }
        return try optionalIdentifier(name).map { ProductType(rawValue: $0) }
    }

    func missing(_ member: StaticString) -> ObservationError {
        let names = [path.outer, path.name, member].compactMap { $0 }
        return .member(names.map { "\($0)" }.joined(separator: "."))
    }

    private static let identifierBytes = 1...255
    private static let dates = Timestamp.earliest.milliseconds...Timestamp.latest.milliseconds
}
