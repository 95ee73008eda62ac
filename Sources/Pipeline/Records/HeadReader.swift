import AppStore
import Entitlements
import JSON
import OpenSSL

/// The members of a head that was parsed as a document.
///
/// The members may be in any order, among unknown members, and in any JSON notation. An error names the member.
struct HeadReader: HeadMembers {
    private var members: JSONObjectReader
    var passedBytes: Int? { nil }
    let end: Int
    /// The path of the object in the head: at most two names, joined only for an error.
    private let path: (outer: StaticString?, name: StaticString?)

    init(_ value: JSONValue, path: (outer: StaticString?, name: StaticString?) = (nil, nil)) throws(ObservationError) {
        guard let members = JSONObjectReader(value) else { throw .member("") }
        self.members = members
        end = value.range.upperBound
        self.path = path
    }

    mutating func optionalObject<Value>(
        _ name: StaticString, _ read: (inout HeadReader) throws(ObservationError) -> Value
    ) throws(ObservationError) -> Value? {
        guard let index = members.index(of: name) else { return nil }
        guard members.kind(at: index) == .object else { throw missing(name) }
        var object = try HeadReader(members.value(at: index), path: (path.outer ?? path.name, name))
        return try read(&object)
    }

    /// Finds the index of a member.
    ///
    /// `nil` if the member is absent or null.
    private mutating func index(of name: StaticString) -> JSONObjectReader.Index? {
        guard let index = members.index(of: name), !members.isNull(at: index) else { return nil }
        return index
    }

    mutating func optionalString(_ name: StaticString) throws(ObservationError) -> String? {
        guard let index = index(of: name) else { return nil }
        guard let text = members.string(at: index) else { throw missing(name) }
        return text
    }

    mutating func optionalInt64(_ name: StaticString) throws(ObservationError) -> Int64? {
        guard let index = index(of: name) else { return nil }
        guard let number = members.int64(at: index) else { throw missing(name) }
        return number
    }

    mutating func optionalBool(_ name: StaticString) throws(ObservationError) -> Bool? {
        guard let index = index(of: name) else { return nil }
        guard let bool = members.bool(at: index) else { throw missing(name) }
        return bool
    }

    mutating func optionalText<Value>(_ name: StaticString, _ convert: (Span<UInt8>) -> Value?) throws(ObservationError)
        -> Value?
    {
        guard let index = index(of: name) else { return nil }
        guard let value = members.withPlainString(at: index, convert) else { throw missing(name) }
        return value
    }

    mutating func optionalIdentifier(_ name: StaticString) throws(ObservationError) -> Identifier? {
        guard let text = try optionalString(name) else { return nil }
        guard headIdentifierBytes.contains(text.utf8.count) else { throw missing(name) }
        return Identifier(text)
    }

    mutating func optionalProductType(_ name: StaticString) throws(ObservationError) -> ProductType? {
        try optionalIdentifier(name).map { ProductType(rawValue: $0.text) }
    }

    mutating func optionalItems(_ name: StaticString) throws(ObservationError) -> [CommerceItem]? {
        index(of: name).map { CommerceItem.items(list: members.value(at: $0)) }
    }

    func missing(_ member: StaticString) -> ObservationError {
        let names = [path.outer, path.name, member].compactMap { $0 }
        return .member(names.map { "\($0)" }.joined(separator: "."))
    }
}
