package import AppStore
package import Postgres

/// A reader of one row of an answer, declared by the columns that it reads.
///
///     RowReader(UserVersion.init, "user_id", "version")
///
/// A string literal reads the column of that name. Readers compose: `PurchaseKey.reader` among the
/// parts reads the columns of a key. The answer's columns are compared with the declared names
/// before any row is read.
package struct RowReader<Row>: Sendable {
    package let columns: [RowColumn]
    let read: @Sendable (PostgresRow) -> Row
    /// Declares the same columns as a part of a larger row.
    let declare: @Sendable (inout RowColumns) -> @Sendable (PostgresRow) -> Row

    /// A reader that asks the row for its columns itself, for rows that take more than a call.
    package init(
        _ declare: @escaping @Sendable (inout RowColumns) -> @Sendable (PostgresRow) -> Row
    ) {
        var columns = RowColumns()
        read = declare(&columns)
        self.columns = columns.columns
        self.declare = declare
    }

    /// A reader that builds the row from its parts, in the order of the columns.
    package init<each Part>(
        _ build: @escaping @Sendable (repeat each Part) -> Row,
        _ parts: repeat RowReader<each Part>
    ) {
        self.init { columns in
            let reads = (repeat (each parts).declare(&columns))
            return { row in build(repeat (each reads)(row)) }
        }
    }

    /// A reader of something that is made of this row.
    package func map<Result>(
        _ transform: @escaping @Sendable (Row) -> Result
    ) -> RowReader<Result> {
        RowReader<Result>(transform, self)
    }

    /// The list of a `SELECT`: `known.a, known.b`.
    package func names(of relation: String) -> String {
        columns.map { "\(relation).\($0.name)" }.joined(separator: ", ")
    }
}

extension RowReader:
    ExpressibleByStringLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByUnicodeScalarLiteral
where Row: ColumnValue {
    /// A row of one column.
    package init(stringLiteral name: String) {
        self.init { columns in
            let column = columns(name, Row.self)
            return { row in row[column] }
        }
    }
}

extension RowReader<Timestamp> {
    /// A column of type `timestamptz`, in whole milliseconds.
    package static func time(_ name: String) -> RowReader {
        RowReader<StoredTime>(stringLiteral: name).map { Timestamp($0) }
    }

    package static func optionalTime(_ name: String) -> RowReader<Timestamp?> {
        RowReader<StoredTime?>(stringLiteral: name).map { $0.map { Timestamp($0) } }
    }
}

/// The name and the type of one column of an answer.
package struct RowColumn: Hashable, Sendable {
    package let name: String
    package let type: PostgresType
}

/// The columns of a row while they are declared.
package struct RowColumns {
    var columns: [RowColumn] = []

    package mutating func callAsFunction<Value: ColumnValue>(
        _ name: String,
        _: Value.Type
    ) -> RowField<Value> {
        columns.append(RowColumn(name: name, type: Value.columnType))
        return RowField(position: columns.count - 1)
    }
}

/// One declared column, by which a row's value is read.
package struct RowField<Value: ColumnValue>: Sendable {
    fileprivate let position: Int
}

extension PostgresRow {
    package subscript<Value>(_ field: RowField<Value>) -> Value {
        Value.read(self, field.position)
    }
}
