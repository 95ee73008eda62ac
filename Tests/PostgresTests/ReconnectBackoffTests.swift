import Testing

@testable import Postgres

@Suite struct ReconnectBackoffTests {
    @Test(arguments: [(0, 100), (1, 200), (3, 800), (7, 10_000)]) func `each failure doubles the delay up to the bound`(
        failures: Int, milliseconds: Int
    ) {
        let full = Duration.milliseconds(milliseconds)
        #expect(ReconnectBackoff.delay(afterFailures: failures, jitter: 1) == full)
        #expect(ReconnectBackoff.delay(afterFailures: failures, jitter: 0) == full / 2)
    }

    @Test func `a success resets the backoff`() {
        var backoff = ReconnectBackoff()
        let time = ContinuousClock.now
        for _ in 0..<20 { backoff.recordFailure(at: time, jitter: 1) }
        #expect(backoff.notBefore == time + ReconnectBackoff.delayMax)
        backoff.recordSuccess()
        backoff.recordFailure(at: time, jitter: 1)
        #expect(backoff.notBefore == time + ReconnectBackoff.delayMin)
    }

    @Test func `the state is read from libpq's text and the rest of it dropped`() {
        let failure = ConnectionFailure(
            """
            connection to server at "h" (10.0.0.1), port 5432 failed: FATAL:  28P01: password \
            authentication failed for user "u"
            LOCATION:  auth_failed, auth.c:326
            """, showing: ["h", "u"])
        #expect(failure.sqlState == SQLState("28P01"))
        #expect(failure.message.hasPrefix("connection to server at \"h\" (10.0.0.1)"))
        #expect(failure.message.hasSuffix("for user \"u\""))
        let unknown = ConnectionFailure("no host \"p4ss\", no user \"u\"", showing: ["u"])
        #expect(unknown.message == "no host \"…\", no user \"u\"")
        #expect(ConnectionFailure("could not translate: Name", showing: []).sqlState == nil)
    }

    @Test(arguments: [
        ("postgresql://u:p%40ss@db.example.com:6432/d?sslmode=require", "db.example.com:6432"),
        ("postgresql://u:pass@one,two:6000/d", "one:6000,two:6000"),
        ("postgresql://u:pass@one:1,two:2/d", "one:1,two:2"),
        ("host=/run/postgresql port=5433 password=pass dbname=d", "/run/postgresql:5433"),
    ]) func `the server is named by host and port, and no password`(text: String, server: String) throws {
        #expect(try ConnectionString(text).server == server)
    }
}
