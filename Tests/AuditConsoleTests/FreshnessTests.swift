import AppStore
import Kafka
import KitWrappers
import OpenSSL
import Postgres
import Store
import TestSupport
import Testing

@testable import AuditConsole
@testable import DeadLetters

/// The age of their numbers that pages state, and pages without Kafka.
@Suite(.timeLimit(.minutes(10))) struct FreshnessTests {
    @Test(arguments: ["/", "/groups", "/search?q=link-1", "/search"])
    func `a page names the letters that a stopped index has not read`(path: String) async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "vera")
        #expect(try await client.get(path).body.contains(", all read<"))
        _ = try await fixture.database.query(
            """
            UPDATE dead_letter_progress
            SET next_offset = next_offset - 1, at = timestamptz '2026-01-31 12:00:00Z'
            """)
        let page = try await client.get(path).body
        #expect(page.contains("1 letter not read yet: the index has stopped"), "\(page)")
        #expect(page.contains("as of 2026-01-31T12:00:00Z"))
    }

    @Test func `a failed walk leaves the report of the one before`() throws {
        var report = ChainReport()
        report.notes = ["found before"]
        let (first, second) = (Timestamp(milliseconds: 1_000), Timestamp(milliseconds: 2_000))
        var state = ChainWatch.State()
        state.walked(nil, first)
        #expect(state.at == nil && state.report == nil && state.failedAt == first)
        state.walked(report, first)
        #expect(state.failedAt == nil)
        state.walked(nil, second)
        #expect(state.report?.notes == ["found before"])
        #expect(state.at == first && state.failedAt == second)
        state.walked(ChainReport(), second)
        #expect(state.report?.notes.isEmpty == true && state.at == second && state.failedAt == nil)
    }

    @Test func `a letter's page does not wait for a broker that is down`() async throws {
        let fixture = try await ConsoleFixture(kafkaDeadline: .milliseconds(1_500))
        let client = try await fixture.client(as: "vera")
        fixture.cluster.mock?.stop()
        let start = ContinuousClock.now
        let page = try await client.get("/letters/\(fixture.ids[0])")
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(page.status == 200)
        #expect(page.body.contains("Kafka did not return it"))
        #expect(page.body.contains("Kafka does not say how many letters are not read yet"))
    }

    @Test func `readiness is answered signed out, by any host, and needs the database`() async throws {
        let fixture = try await ConsoleFixture()
        #expect(try await fixture.client().get("/readyz").status == 200)
        await fixture.database.close()
        #expect(try await fixture.client().get("/readyz").status == 503)
    }
}
