import Postgres

/// A digest of every row of every table, the history and the outbox among them.
///
/// Left out are the memory of deduplication, which may be forgotten at any moment, and the change
/// feed's outbox and repetitions, which empty by themselves.
struct TableDigests: Equatable, Sendable {
    private let digests: [String: String]

    init(_ connection: PostgresConnection) async throws {
        let tables = try await connection.query(
            """
            SELECT table_name::text FROM information_schema.tables
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
                AND table_name NOT LIKE 'dedupe\\_%'
                AND table_name NOT IN ('unpublished_changes', 'feed_lease', 'feed_repetitions')
            """)
        var digests: [String: String] = [:]
        for table in tables.map({ $0.text(0) }) {
            let answer = try await connection.query(
                """
                SELECT count(*) || ' rows, ' || md5(coalesce(
                    string_agg(line::text, chr(10) ORDER BY line::text), ''))
                FROM \(table) AS line
                """)
            digests[table] = answer[0].text(0)
        }
        self.digests = digests
    }

    /// The tables that differ.
    func changedTables(since earlier: TableDigests) -> [String] {
        Set(digests.keys).union(earlier.digests.keys).filter { digests[$0] != earlier.digests[$0] }.sorted()
    }

    var tableCount: Int { digests.count }
}
