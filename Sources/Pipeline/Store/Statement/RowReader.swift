package import AppStore
package import Postgres

/// A reader of one row of an answer, declared by the columns that it reads.
///
///     RowReader(UserVersion.init, "user_id", "version")
///
/// A string literal reads the column of that name. Readers can be nested: `PurchaseKey.reader`
/// among the parts reads the columns of a key. The answer's columns are compared with the declared
/// names before any row is read.
package struct RowReader<Row>: Sendable {
    package let columns: [RowColumn]
    /// Reads the columns; `first` is the position of the first one in the row.
    let read: @Sendable (PostgresRow, _ first: Int) -> Row

    init(_ columns: [RowColumn], _ read: @escaping @Sendable (PostgresRow, Int) -> Row) {
        self.columns = columns
        self.read = read
    }

    /// Creates a reader that builds the row from its parts, in the order of the columns.
    package init<each Part>(
        _ build: @escaping @Sendable (repeat each Part) -> Row, _ parts: repeat RowReader<each Part>
    ) {
        var columns: [RowColumn] = []
        let parts = (repeat RowPart(each parts, after: &columns))
        self.init(columns) { row, first in build(repeat (each parts).read(row, first)) }
    }

    /// Returns a reader that transforms the row.
    package func map<Result>(_ transform: @escaping @Sendable (Row) -> Result) -> RowReader<Result> {
        RowReader<Result>(transform, self)
    }

    /// A reader that returns `nil` for a row whose first column is NULL, as an outer join adds.
    var unlessNull: RowReader<Row?> {
        RowReader<Row?>(columns) { [read] row, first in row.isNull(first) ? nil : read(row, first) }
    }

    /// Returns the list of a `SELECT`: `known.a, known.b`.
    ///
    /// - Parameter hidden: a column of texts that is null instead.
    package func names(of relation: String, hiding hidden: String? = nil) -> String {
        columns.map { column in column.name == hidden ? "NULL::text AS \(column.name)" : "\(relation).\(column.name)" }
            .joined(separator: ", ")
    }
}

extension RowReader: ExpressibleByStringLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByUnicodeScalarLiteral
where Row: ColumnValue {
    /// Creates a reader of one column with this name.
    package init(stringLiteral name: String) {
        self.init([RowColumn(name: name, type: Row.columnType)]) { Row.read($0, $1) }
    }
}

extension RowReader<Timestamp> {
    /// Reads a column of type `timestamptz`, in whole milliseconds.
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

/// A reader that is a part of a larger row's reader.
private struct RowPart<Row>: Sendable {
    private let offset: Int
    private let reader: @Sendable (PostgresRow, Int) -> Row

    init(_ reader: RowReader<Row>, after columns: inout [RowColumn]) {
        offset = columns.count
        self.reader = reader.read
        columns += reader.columns
    }

    func read(_ row: PostgresRow, _ first: Int) -> Row { reader(row, first + offset) }
}
