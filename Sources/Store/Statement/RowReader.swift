package import AppStore
package import Postgres

/// How one row of an answer is read: its columns by name, each at the position of its declaration.
///
///     RowReader { columns in
///         let user = columns("user_id", Identifier.self)
///         let version = columns("version", Int64.self)
///         return { row in UserVersion(userID: row[user], version: row[version]) }
///     }
///
/// The answer's columns are compared with the declared names before any row is read.
package struct RowReader<Row>: Sendable {
    package let columns: [RowColumn]
    let read: @Sendable (PostgresRow) -> Row

    package init(_ declare: (inout RowColumns) -> @Sendable (PostgresRow) -> Row) {
        var columns = RowColumns()
        read = declare(&columns)
        self.columns = columns.columns
    }

    /// The list of a `SELECT`: `known.a, known.b`.
    package func names(of relation: String) -> String {
        columns.map { "\(relation).\($0.name)" }.joined(separator: ", ")
    }
}

extension RowReader where Row: ColumnValue & Sendable {
    /// A row of one column.
    package init(_ name: String) {
        self.init { columns in
            let column = columns(name, Row.self)
            return { row in row[column] }
        }
    }
}

/// The name and the type of one column of an answer.
package struct RowColumn: Hashable, Sendable {
    package let name: String
    package let type: PostgresType
}

/// The columns of a row while they are declared.
package struct RowColumns {
    fileprivate private(set) var columns: [RowColumn] = []

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

    /// The identifier of a column; reuses another column's if it is equal, as is often the case.
    package subscript(_ field: RowField<Identifier>, likely other: Identifier) -> Identifier {
        let utf8 = other.utf8
        let isOther = withBytes(field.position) { bytes in
            guard bytes.count == utf8.span.count else { return false }
            for index in 0..<bytes.count where bytes[index] != utf8.span[index] { return false }
            return true
        }
        return isOther == true ? other : self[field]
    }

    /// The token of a column; nil for NULL, and for a text that is not a token, which names nobody.
    package func accountToken(_ field: RowField<String?>) -> AccountToken? {
        withBytes(field.position) { AccountToken($0) } ?? nil
    }

    package func isNull<Value>(_ field: RowField<Value>) -> Bool {
        isNull(field.position)
    }
}
