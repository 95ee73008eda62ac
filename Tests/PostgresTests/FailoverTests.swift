import Postgres
import TestSupport
import Testing

/// Sessions of a server that has become read-only while another one took its place.
@Suite(.timeLimit(.minutes(10))) struct FailoverTests {
    @Test func `a held session ends when its server becomes read-only, the next finds the other`() async throws {
        let servers = try await FailoverServers.start()
        let client = PostgresClient(servers.options)
        let held = try await client.connect()
        try await held.listen(to: "links")
        try await servers.failOver()
        await eventually { await !held.isUsable() }
        let error = await #expect(throws: PostgresError.self) {
            _ = try await held.notifications(deadline: .milliseconds(1))
        }
        #expect(error?.isRetriable == true)
        #expect(error?.sqlState == SQLState("25006"))
        let next = try await client.connect()
        _ = try await next.query("CREATE TABLE written (id int)")
        await next.close()
        await client.close()
        try await servers.remove()
    }

    @Test func `connections of a pool that only read end too`() async throws {
        let servers = try await FailoverServers.start()
        let client = PostgresClient(servers.options, connectionsMax: 2)
        _ = try await client.query("SELECT 1")
        #expect(try await servers.sessionsOfFormerPrimary() == 1)
        try await servers.failOver()
        try await eventually { try await client.query("SHOW transaction_read_only")[0].text(0) == "off" }
        #expect(try await servers.sessionsOfFormerPrimary() == 0)
        await client.close()
        try await servers.remove()
    }

    @Test func `on a read-only server a pool may read, and nothing is held`() async throws {
        let servers = try await FailoverServers.start()
        var options = servers.options
        options.connectionString = options.connectionString.replacing("read-write", with: "any")
        try await servers.failOver()
        let client = PostgresClient(options, connectionsMax: 1)
        for _ in 0..<2 { #expect(try await client.query("SHOW transaction_read_only")[0].text(0) == "on") }
        let error = await #expect(throws: PostgresError.self) { _ = try await client.connect() }
        #expect(error?.sqlState == SQLState("25006"))
        #expect(error?.isRetriable == true)
        await client.close()
        try await servers.remove()
    }
}
