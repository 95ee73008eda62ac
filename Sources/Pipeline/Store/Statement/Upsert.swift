package import Postgres

/// Writes rows, some of which their writer takes for new.
///
/// A plain insert costs two thirds of one with `ON CONFLICT`, which looks the key up first and then
/// inserts provisionally. A row that is stored after all violates the key, and the transaction runs
/// again (`PostgresClient.inserting`).
package struct Upsert<Row: Sendable>: Sendable {
    package let insert: Statement<[Row], Void>
    package let upsert: Statement<[Row], Void>

    /// - Parameters:
    ///   - query: selects the columns from `$new`.
    ///   - action: the rest of `ON CONFLICT`; a stored row is named `known`.
    init(
        into table: String, _ columns: Columns<Row>, from query: String = "SELECT * FROM $new",
        onConflict action: String
    ) {
        let insertion = "INSERT INTO \(table) AS known ($new.columns)\n\(query)"
        insert = Statement([.rows("new", columns)], insertion)
        upsert = Statement([.rows("new", columns)], "\(insertion)\nON CONFLICT \(action)")
    }
}

/// Whether rows that a transaction takes for new are inserted as such.
package enum NewRows: Sendable {
    case inserted
    /// The rows are written like rows that may be stored, because one of them was.
    case upserted
}

extension Pipeline {
    /// - Returns: the statements whose affected rows add up to those written.
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
    /// Runs a transaction that inserts new rows, and once more if one of them was stored.
    package func inserting<T>(_ body: (PostgresConnection, NewRows) async throws -> T) async throws -> T {
        do { return try await transaction { try await body($0, .inserted) } } catch let error as PostgresError
            where error.sqlState == .uniqueViolation
        { return try await transaction { try await body($0, .upserted) } }
    }
}
