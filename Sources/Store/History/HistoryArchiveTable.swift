import Postgres

/// What the table `history_archives` knows of the files that history was moved into.
package enum HistoryArchiveTable {
    package struct Row: Equatable, Sendable {
        package let number: Int64
        package let table: HistoryArchiving.Table
        /// As the one who archived named it: the folder may be of another machine.
        package let file: String
        /// Nil where the archive was broken off.
        package let rowCount: Int64?
    }

    /// All archives, also those whose rows were put back: their files hold them still.
    package static let all = Statement<Void, Row>(
        returning: RowReader { columns in
            let number = columns("number", Int64.self)
            let table = columns("table_name", HistoryArchiving.Table.self)
            let file = columns("file", String.self)
            let rowCount = columns("row_count", Int64?.self)
            return { row in
                Row(
                    number: row[number],
                    table: row[table],
                    file: row[file],
                    rowCount: row[rowCount]
                )
            }
        },
        "SELECT number, table_name, file, row_count FROM history_archives ORDER BY number"
    )
}
