package import Postgres

/// A statement that writes rows, and a faster one for rows that are assumed to be new.
///
/// A plain `INSERT` costs two thirds of one with `ON CONFLICT`, which first looks up the key and
/// then inserts speculatively. If such a row is already stored, the `INSERT` violates the key, and
/// the transaction runs again (`PostgresClient.inserting`).
package struct Upsert<Row: Sendable>: Sendable {
    package let insert: Statement<[Row], Void>
    package let upsert: Statement<[Row], Void>

    /// - Parameters:
    ///   - query: SQL that selects the columns from `$new`.
    ///   - action: the rest of `ON CONFLICT`; a stored row is named `known`.
    ///   - added: a further column of the upsert alone, and its value for a row that turns out to be new.
    init(
        into table: String, _ columns: Columns<Row>, from query: String = "SELECT * FROM $new",
        onConflict action: String, upserting added: (column: String, value: String)? = nil
    ) {
        let insertion = "INSERT INTO \(table) AS known ($new.columns)\n\(query)"
        let upsertion = added.map { added in
            "INSERT INTO \(table) AS known ($new.columns, \(added.column))\nSELECT *, \(added.value) FROM $new"
        }
        insert = Statement([.rows("new", columns)], insertion)
        upsert = Statement([.rows("new", columns)], "\(upsertion ?? insertion)\nON CONFLICT \(action)")
    }
}

/// The choice of statement for rows that a transaction assumes to be new.
package enum NewRows: Sendable {
    case inserted
    /// The rows are upserted, because one of them was stored already.
    case upserted
}

extension Pipeline {
    /// - Returns: the tokens of the statements; their affected rows add up to the written rows.
    @discardableResult package mutating func add<Row>(
        _ table: Upsert<Row>, new: [Row], _ handling: NewRows, others: [Row]
    ) -> [Token<Void>] {
        let added =
            switch handling {
            case .inserted: [add(table.insert, unlessEmpty: new), add(table.upsert, unlessEmpty: others)]
            case .upserted: [add(table.upsert, unlessEmpty: new + others)]
            }
        return added.compactMap { $0 }
    }
}

extension PostgresClient {
    /// Runs a transaction that inserts new rows, and repeats it with upserts if one was stored already.
    package func inserting<T>(_ body: (PostgresConnection, NewRows) async throws -> T) async throws -> T {
        do { return try await transaction { try await body($0, .inserted) } } catch let error as PostgresError
            where error.sqlState == .uniqueViolation
        { return try await transaction { try await body($0, .upserted) } }
    }
}
