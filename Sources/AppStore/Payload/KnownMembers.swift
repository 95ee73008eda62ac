import JSON

/// The members of an object that have a name of a table, found in one pass over it.
///
/// Looking each name up by itself would go over the object once for each: a body may hold as many
/// members as it likes, and names and items beside them.
struct KnownMembers<Field: PayloadField & Hashable> {
    private var values: [Field: JSONValue] = [:]

    /// - Parameter object: of any other value no member is known; of doubled ones the first counts.
    init(of object: JSONValue, named table: FieldTable<Field>) {
        for (key, value) in object.members {
            if let field = table.field(named: key), values[field] == nil {
                values[field] = value
            }
        }
    }

    subscript(_ field: Field) -> JSONValue? { values[field] }

    /// Whether the member is there; null is not.
    func has(_ field: Field) -> Bool {
        values[field].map { !$0.isNull } ?? false
    }
}
