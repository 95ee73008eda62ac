import Postgres

/// The table `history_archives`: the files that history was moved into.
package enum HistoryArchiveTable {
    package struct Row: Equatable, Sendable {
        package let number: Int64
        package let table: HistoryArchiving.Table
        /// As given by the archiving operator: the folder may be on another machine.
        package let file: String
        /// Nil if the archive was interrupted.
        package let rowCount: Int64?
    }

    /// All archives, even if their rows were restored: their files still hold them.
    package static let all = Statement<Void, Row>(
        returning: RowReader(Row.init, "number", "table_name", "file", "row_count"),
        "SELECT number, table_name, file, row_count FROM history_archives ORDER BY number"
    )
}
