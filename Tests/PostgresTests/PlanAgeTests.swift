import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct PlanAgeTests {
    /// The plan of a look-up that was first made on an empty table, once that has many rows.
    private func plan(atMost age: Duration) async throws -> String {
        var options = try await PostgresServer.shared.emptyDatabase()
        options.renewalInterval = age
        let client = PostgresClient(options, connectionsMax: 1)
        let lookup = "SELECT count(*) FROM things WHERE name = $1"
        _ = try await client.query("CREATE TABLE things (name text PRIMARY KEY) WITH (autovacuum_enabled = false)")
        _ = try await client.query("ANALYZE things")
        // The first five times the server plans for the parameters' values alone.
        for _ in 0..<8 { _ = try await client.query(lookup, [.text("x")]) }
        _ = try await client.query("INSERT INTO things SELECT generate_series(1, 20000)::text")
        _ = try await client.query(lookup, [.text("x")])
        let name = try await client.query(
            "SELECT name FROM pg_prepared_statements WHERE statement = $1", [.text(lookup)])[0].text(0)
        let lines = try await client.query("EXPLAIN EXECUTE \(name)('x')").map { $0.text(0) }
        await client.close()
        return lines.joined(separator: "\n")
    }

    @Test func `a plan made on an empty table is replaced once the table has grown`() async throws {
        #expect(try await plan(atMost: .zero).contains("Index"))
    }

    /// Otherwise the test above shows nothing.
    @Test func `the server by itself keeps to its plan`() async throws {
        #expect(try await plan(atMost: .seconds(3_600)).contains("Seq Scan"))
    }
}
