import Platform

/// A connection that stays open between uses, and keeps the locks of its session.
///
/// A standing connection serves one task at a time. A fault closes it, which releases its locks; the next use opens a
/// new connection, also after a newer login has worked.
package final class StandingConnection {
    private let client: PostgresClient
    private var connection: PostgresConnection?

    package init(_ client: PostgresClient) { self.client = client }

    /// Calls `body` with the connection.
    ///
    /// - Parameter begin: prepares a connection that was just opened.
    package func use<Value>(
        beginning begin: (PostgresConnection) async throws -> Void, _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let result = await Result(of: {
            if let connection, !connection.isOfFormerLogin { return try await body(connection) }
            await close()
            let new = try await client.connect()
            connection = new
            try await begin(new)
            return try await body(new)
        })
        if case .failure = result { await close() }
        return try result.get()
    }

    package func close() async {
        await connection?.close()
        connection = nil
    }
}
