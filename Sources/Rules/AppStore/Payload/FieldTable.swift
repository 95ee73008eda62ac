import JSON

/// A table that finds a payload's field by the bytes of its key, without making a string.
///
/// The table is a hash table with open addressing. The hash covers length, first, middle and last byte: known names
/// rarely collide, and an unknown name is compared with few others.
struct FieldTable<Field: PayloadField>: Sendable {
    private let slots: [Slot?]
    let nameBytesMax: Int

    private enum Meaning {
        case read(Field)
        case checked(FieldKind)
    }

    private struct Slot: Sendable {
        let name: [UInt8]
        let meaning: Meaning
    }

    init() {
        let meanings =
            Field.allCases.map { ($0.rawValue, Meaning.read($0)) }
            + Field.checked.flatMap { kind, names in names.map { ($0, .checked(kind)) } }
        var capacity = 16
        while capacity < meanings.count * 4 { capacity *= 2 }
        var slots = [Slot?](repeating: nil, count: capacity)
        for (text, meaning) in meanings {
            let name = Array(text.utf8)
            var index = Self.hash(name.span) & (capacity - 1)
            while slots[index] != nil { index = (index + 1) & (capacity - 1) }
            slots[index] = Slot(name: name, meaning: meaning)
        }
        self.slots = slots
        nameBytesMax = slots.map { $0?.name.count ?? 0 }.max() ?? 0
    }

    /// The field with a name.
    ///
    /// `nil` if the name is unknown, or its field is only checked.
    func field(named name: borrowing Span<UInt8>) -> Field? {
        guard case .read(let field) = meaning(of: name) else { return nil }
        return field
    }

    /// Whether the name of a member is in the table.
    func contains(_ key: JSONValue) -> Bool { meaning(of: key) != nil }

    private func meaning(of key: JSONValue) -> Meaning? {
        guard let range = key.plainStringRange else {
            // An escape has at most six bytes for one byte, so a longer key cannot be a name.
            guard key.range.count <= nameBytesMax * 6 + 2 else { return nil }
            return key.stringBytes.flatMap { meaning(of: $0.span) }
        }
        return meaning(of: key.documentBytes.span.extracting(range))
    }

    private func meaning(of name: borrowing Span<UInt8>) -> Meaning? {
        guard !name.isEmpty else { return nil }
        var index = Self.hash(name) & (slots.count - 1)
        while let slot = slots[index] {
            if slot.name.count == name.count, ByteSearch.hasPrefix(slot.name.span, name, at: 0) { return slot.meaning }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Calls `body` for each member of an object that has the name of a field, in one pass; checks the members that no
    /// code reads.
    ///
    /// - Returns: the number of malformed members.
    func read(_ object: JSONValue, _ body: (Field, JSONValue, inout FieldReader) -> Void) -> Int {
        var reader = FieldReader()
        for (key, value) in object.members {
            switch meaning(of: key) {
            case .read(let field): body(field, value, &reader)
            case .checked(let kind): reader.check(value, is: kind)
            case nil: break
            }
        }
        return reader.malformedFields
    }

    private static func hash(_ name: borrowing Span<UInt8>) -> Int {
        let first = Int(name[0])
        let middle = Int(name[name.count / 2])
        let last = Int(name[name.count - 1])
        return name.count &* 37 &+ first &* 5 &+ middle &* 11 &+ last &* 3
    }
}

/// The fields of one kind of payload; the raw value is Apple's name.
protocol PayloadField: RawRepresentable<String>, CaseIterable, Sendable {
    /// The names of the fields that no code reads, by their documented kind: a value of another kind is counted as
    /// malformed.
    static var checked: [FieldKind: [String]] { get }
}

extension PayloadField { static var checked: [FieldKind: [String]] { [:] } }

/// The kind of a field that is checked but not stored.
enum FieldKind { case text, identifier, date, int32, int64, object, array }

/// The members of an object whose names are in a table, found in one pass.
///
/// A look-up by name would cost one pass for each member, over an object of any size.
struct KnownMembers<Field: PayloadField & Hashable> {
    private var values: [Field: JSONValue] = [:]

    /// - Parameter object: the object; any other value has no members; the first of duplicate members counts.
    init(of object: JSONValue, named table: FieldTable<Field>) {
        let members = object.members(keyBytesMax: table.nameBytesMax) { name in table.field(named: name) }
        for (field, value) in members where values[field] == nil { values[field] = value }
    }

    subscript(_ field: Field) -> JSONValue? { values[field] }

    /// Whether the member is present; null counts as absent.
    func has(_ field: Field) -> Bool { values[field].map { !$0.isNull } ?? false }
}
