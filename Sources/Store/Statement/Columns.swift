package import Postgres

/// One column of the rows that a statement is given: its name, its type and its value.
package struct Column<Element>: Sendable {
    package let name: String
    package let type: PostgresType
    fileprivate let append: @Sendable (Element, inout PostgresArray) -> Void

    package init<Value: ColumnValue>(
        _ name: String,
        _ value: @escaping @Sendable (Element) -> Value
    ) {
        self.name = name
        type = Value.columnType
        append = { value($0).append(to: &$1) }
    }

    private init(
        _ name: String,
        _ type: PostgresType,
        _ append: @escaping @Sendable (Element, inout PostgresArray) -> Void
    ) {
        self.name = name
        self.type = type
        self.append = append
    }

    /// The index of the row in what the statement is given, by which its answer is read.
    package static var index: Column {
        Column("index", .int8) { _, array in array.append(Int64(array.count)) }
    }

    fileprivate func of<Whole>(
        _ part: @escaping @Sendable (Whole) -> Element
    ) -> Column<Whole> {
        Column<Whole>(name, type) { [append] in append(part($0), &$1) }
    }
}

/// The columns of the rows that a statement is given, and the SQL that names them.
///
/// The arrays of an `unnest` and the list of an `INSERT` both come from this one declaration, so
/// that no order can differ between them.
package struct Columns<Element>: ExpressibleByArrayLiteral, Sendable {
    let columns: [Column<Element>]

    package init(_ columns: [Column<Element>]) {
        self.columns = columns
    }

    package init(arrayLiteral elements: Column<Element>...) {
        columns = elements
    }

    package static func + (left: Columns, right: Columns) -> Columns {
        Columns(left.columns + right.columns)
    }

    /// The same columns of a part of something larger.
    package func of<Whole>(_ part: @escaping @Sendable (Whole) -> Element) -> Columns<Whole> {
        Columns<Whole>(columns.map { $0.of(part) })
    }

    /// `a, b`, or `known.a, known.b`.
    package func names(of relation: String? = nil) -> String {
        let prefix = relation.map { "\($0)." } ?? ""
        return columns.map { prefix + $0.name }.joined(separator: ", ")
    }

    /// `a = excluded.a, b = excluded.b`, of an `ON CONFLICT DO UPDATE SET`.
    package var excluded: String {
        columns.map { "\($0.name) = excluded.\($0.name)" }.joined(separator: ", ")
    }

    /// `left.a = right.a AND left.b = right.b`.
    package func equal(_ left: String, _ right: String) -> String {
        columns.map { "\(left).\($0.name) = \(right).\($0.name)" }.joined(separator: " AND ")
    }

    /// One array for each column.
    func arrays(_ rows: some Collection<Element>) -> [PostgresValue] {
        columns.map { column in
            var array = PostgresArray(of: column.type, bytesExpected: rows.count * 16)
            for row in rows {
                column.append(row, &array)
            }
            return .array(array)
        }
    }
}
