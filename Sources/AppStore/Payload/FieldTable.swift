import JSON

/// Finds a payload's field by the bytes of its key, without making a string.
///
/// A hash table with open addressing. The hash covers length, first, middle and last byte: known
/// names rarely collide, and an unknown name is compared with few others.
struct FieldTable<Field: PayloadField>: Sendable {
    private let slots: [Slot?]
    let nameBytesMax: Int

    private struct Slot: Sendable {
        let name: [UInt8]
        let field: Field
    }

    init() {
        var capacity = 16
        while capacity < Field.allCases.count * 4 {
            capacity *= 2
        }
        var slots = [Slot?](repeating: nil, count: capacity)
        for field in Field.allCases {
            let name = Array(field.rawValue.utf8)
            var index = Self.hash(name.span) & (capacity - 1)
            while slots[index] != nil {
                index = (index + 1) & (capacity - 1)
            }
            slots[index] = Slot(name: name, field: field)
        }
        self.slots = slots
        nameBytesMax = slots.map { $0?.name.count ?? 0 }.max() ?? 0
    }

    func field(named key: JSONValue) -> Field? {
        guard let range = key.plainStringRange else {
            // An escape takes at most six bytes for one, so a longer key cannot be a name.
            guard key.range.count <= nameBytesMax * 6 + 2 else { return nil }
            return key.stringBytes.flatMap { field(named: $0.span) }
        }
        return field(named: key.documentBytes.span.extracting(range))
    }

    func field(named name: borrowing Span<UInt8>) -> Field? {
        guard !name.isEmpty else { return nil }
        var index = Self.hash(name) & (slots.count - 1)
        while let slot = slots[index] {
            if slot.name.count == name.count, ByteSearch.hasPrefix(slot.name.span, name, at: 0) {
                return slot.field
            }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Passes each member of an object with a known name to `body`, in one pass.
    ///
    /// - Returns: the number of malformed members.
    func read(
        _ object: JSONValue,
        _ body: (Field, JSONValue, inout FieldReader) -> Void
    ) -> Int {
        var reader = FieldReader()
        for (key, value) in object.members {
            if let field = field(named: key) {
                body(field, value, &reader)
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
protocol PayloadField: RawRepresentable<String>, CaseIterable, Sendable {}

/// The members of an object whose names are in a table, found in one pass.
///
/// A look-up by name would cost one pass for each of them, over an object of any size.
struct KnownMembers<Field: PayloadField & Hashable> {
    private var values: [Field: JSONValue] = [:]

    /// - Parameter object: any other value has no members; the first of duplicate members counts.
    init(of object: JSONValue, named table: FieldTable<Field>) {
        let members = object.members(keyBytesMax: table.nameBytesMax) { name in
            table.field(named: name)
        }
        for (field, value) in members where values[field] == nil {
            values[field] = value
        }
    }

    subscript(_ field: Field) -> JSONValue? { values[field] }

    /// Whether the member is present; null counts as absent.
    func has(_ field: Field) -> Bool {
        values[field].map { !$0.isNull } ?? false
    }
}
