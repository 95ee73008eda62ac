package import Entitlements
package import Postgres

/// A column of a statement's input rows: its name, its type and its value.
package struct Column<Element>: Sendable {
    package let name: String
    package let type: PostgresType
    fileprivate let append: @Sendable (Element, inout PostgresArray) -> Void

    package init<Value: ColumnValue>(_ name: String, _ value: @escaping @Sendable (Element) -> Value) {
        self.name = name
        type = Value.columnType
        append = { value($0).append(to: &$1) }
    }

    /// A column from a part of a shared value; the compiler prefers this initializer for a key path.
    package init<Whole, Value: ColumnValue>(_ name: String, _ value: @escaping @Sendable (Whole) -> Value)
    where Element == Shared<Whole> { self.init(name) { $0.read(value) } }

    /// A column with the index of the row in the input, to match the answer.
    package static var index: Column {
        Column(name: "index", type: .int8) { _, array in array.append(Int64(array.count)) }
    }

    private init(name: String, type: PostgresType, append: @escaping @Sendable (Element, inout PostgresArray) -> Void) {
        self.name = name
        self.type = type
        self.append = append
    }
}

/// The columns of a statement's input rows, and the SQL that names them.
///
/// The arrays of an `unnest` and the list of an `INSERT` both follow from this declaration, so
/// their orders cannot differ.
package struct Columns<Element>: ExpressibleByArrayLiteral, Sendable {
    let names: [String]
    let types: [PostgresType]
    /// Appends one row to the arrays of these columns; `first` is the index of the first array.
    private let append: @Sendable (Element, inout [PostgresArray], _ first: Int) -> Void

    package init(_ columns: [Column<Element>]) {
        names = columns.map(\.name)
        types = columns.map(\.type)
        append = { row, arrays, first in
            for index in columns.indices { columns[index].append(row, &arrays[first + index]) }
        }
    }

    init(
        names: [String], types: [PostgresType],
        append: @escaping @Sendable (Element, inout [PostgresArray], _ first: Int) -> Void
    ) {
        self.names = names
        self.types = types
        self.append = append
    }

    package init(arrayLiteral elements: Column<Element>...) { self.init(elements) }

    package static func + (left: Columns, right: Columns) -> Columns {
        let leftCount = left.names.count
        return Columns(
            names: left.names + right.names, types: left.types + right.types,
            append: { [append = (left.append, right.append)] row, arrays, first in
                append.0(row, &arrays, first)
                append.1(row, &arrays, first + leftCount)
            })
    }

    /// Returns these columns for a larger value, of which `part` returns the element.
    package func of<Whole>(_ part: @escaping @Sendable (Whole) -> Element) -> Columns<Whole> {
        Columns<Whole>(names: names, types: types, append: { [append] in append(part($0), &$1, $2) })
    }

    /// The names as SQL: `a, b`, or `known.a, known.b`.
    package func names(of relation: String? = nil) -> String {
        let prefix = relation.map { "\($0)." } ?? ""
        return names.map { prefix + $0 }.joined(separator: ", ")
    }

    /// The assignments `a = excluded.a, b = excluded.b`, for an `ON CONFLICT DO UPDATE SET`.
    package var excluded: String { assignments(from: "excluded") }

    /// Returns the assignments `a = new.a, b = new.b` for an `UPDATE`, without excluded columns.
    func assignments(from relation: String, except others: String...) -> String {
        names.filter { !others.contains($0) }.map { "\($0) = \(relation).\($0)" }.joined(separator: ", ")
    }

    /// Returns the condition `left.a = right.a AND left.b = right.b`.
    package func equal(_ left: String, _ right: String) -> String {
        names.map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Returns SQL for the names of the columns in which two relations differ: `a, b`, or an empty text.
    package func differing(_ left: String, _ right: String) -> String {
        let names = zip(names, types).map { name, type in
            // PostgreSQL cannot compare values of type json, so compare their text.
            let text = type == .json ? "::text" : ""
            return "CASE WHEN \(left).\(name)\(text) IS DISTINCT FROM \(right).\(name)\(text) THEN '\(name)' END"
        }
        return "concat_ws(', ', \(names.joined(separator: ", ")))"
    }

    /// Creates an array for each column.
    ///
    /// The arrays are built row by row, so that a row and its parts are copied once, not once for each column.
    func arrays(_ rows: some Collection<Element>) -> [PostgresValue] {
        var arrays = types.map { PostgresArray(of: $0) }
        var isFirst = true
        for row in rows.indices {
            append(rows[row], &arrays, 0)
            guard isFirst else { continue }
            isFirst = false
            // The other rows are about as large as the first.
            for index in arrays.indices { arrays[index].reserve(rows.count) }
        }
        return arrays.map { .array($0) }
    }
}
