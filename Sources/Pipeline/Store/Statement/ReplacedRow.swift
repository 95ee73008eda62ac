/// A row that was wrong and is now replaced.
package struct ReplacedRow: Sendable {
    /// The index of the row in the input.
    package let index: Int
    package let isMissing: Bool
    /// The names of the columns that differed, such as `expires_date_ms, trust`.
    package let columns: String

    fileprivate static let reader = RowReader(ReplacedRow.init, "index", "is_missing", "differing_columns")
}

extension Statement where Row == ReplacedRow {
    /// Writes the given rows that differ from the stored ones, and returns the differences.
    ///
    /// - Parameters:
    ///   - key: the table's primary key; the given rows must have distinct keys.
    ///   - terms: all other columns.
    static func replacing<Element>(_ table: String, key: Columns<Element>, terms: Columns<Element>) -> Statement
    where Input == [Element] {
        let all = key + terms
        return Statement(
            [.rows("given", [.index] + all)], returning: ReplacedRow.reader,
            """
            WITH compared AS (
                SELECT given.*, known.\(key.names[0]) IS NULL AS is_missing,
                       \(all.differing("known", "given")) AS differing_columns
                FROM $given
                LEFT JOIN LATERAL (
                    SELECT * FROM \(table) AS known
                    WHERE \(key.equal("known", "given"))
                    OFFSET 0
                ) AS known ON true
            ),
            written AS (
                INSERT INTO \(table) (\(all.names()))
                SELECT \(all.names()) FROM compared WHERE differing_columns <> ''
                ON CONFLICT (\(key.names())) DO UPDATE SET \(terms.excluded)
            )
            SELECT index, is_missing, differing_columns FROM compared
            WHERE differing_columns <> ''
            """)
    }
}
