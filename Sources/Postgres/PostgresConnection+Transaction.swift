/// How much a transaction sees of those beside it (manual, "Transaction Isolation").
package enum PostgresIsolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
}

extension PostgresConnection {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// - Parameter deadline: for the whole transaction, beside that of each call.
    package nonisolated func transaction<T>(
        isolation: PostgresIsolation = .readCommitted,
        deadline: Duration? = nil,
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let begin = PostgresStatement("BEGIN ISOLATION LEVEL \(isolation.rawValue)")
        try await self.begin(begin, deadline: deadline)
        do {
            let value = try await body(self)
            try await commit()
            return value
        } catch {
            await rollback()
            throw error
        }
    }
}
