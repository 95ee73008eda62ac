import Postgres

/// What one user has bought of one currency, and what refunds took back of it.
struct DemoCredit: Hashable, Sendable {
    let userID: String
    let currency: String
    let bought: Int64
    let takenBack: Int64

    static func all(
        of userIDs: [String],
        on connection: PostgresConnection
    ) async throws -> [DemoCredit] {
        let rows = try await connection.query(
            """
            SELECT user_id, currency, sum(amount)::int8, sum(taken_back)::int8 FROM ledger
            WHERE user_id = ANY($1::text[]) AND environment = 'Production'
            GROUP BY user_id, currency ORDER BY user_id, currency
            """,
            [.textArray(userIDs)]
        )
        return rows.map { row in
            DemoCredit(
                userID: row.text(0),
                currency: row.text(1),
                bought: row.int8(2),
                takenBack: row.int8(3)
            )
        }
    }
}
