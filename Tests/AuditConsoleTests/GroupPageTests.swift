import AppStore
import DeadLetters
import Foundation
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// The page of one group of dead letters.
@Suite(.timeLimit(.minutes(10))) struct GroupPageTests {
    /// Letters of one group: each failed that many hours ago.
    private static func fixture(_ hoursAgo: [Int64]) async throws -> (ConsoleFixture, String) {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let letters = hoursAgo.enumerated().map { number, hours in
            var letter = SampleLetter.plain(number)
            letter.failedAt = Timestamp(milliseconds: now - hours * 3_600_000)
            return letter
        }
        let fixture = try await ConsoleFixture(letters: letters)
        let groups = try await DeadLetterGroupTable.largest(
            DeadLetterQuery(), now: Timestamp(milliseconds: now), limit: 2, on: fixture.database)
        #expect(groups.count == 1)
        return (fixture, try #require(groups.first?.id))
    }

    @Test func `a group's page says what its letters have in common, and its trend`() async throws {
        let (fixture, id) = try await Self.fixture([0, 0, 8])
        let client = try await fixture.client(as: "vera")
        let page = try await client.get("/groups/\(id)")
        #expect(page.status == 200)
        let rule = RefusalGuide(.signatureInvalid).rule
        for text in [
            "Common properties", "signature_<wbr>invalid", "com.example.app", "storekit.raw", "ingest-1",
            rule.replacing("'", with: "&#39;"), "<b>2</b>", "1 in the 6 hours before",
            "Dead letters per hour, 168 hours: signature_invalid 3",
        ] { #expect(page.body.contains(text), "\(text)") }
        for letter in fixture.ids { #expect(page.body.contains("href=\"/letters/\(letter)\"")) }
        for path in ["/groups", "/", "/letters/\(fixture.ids[0])"] {
            #expect(try await client.get(path).body.contains("href=\"/groups/\(id)\""), "\(path)")
        }
    }

    @Test func `a group's page begins with its dry run and its resolution, for operators`() async throws {
        let (fixture, id) = try await Self.fixture([0, 0, 8])
        let otto = try await fixture.client(as: "otto")
        let page = try await otto.get("/groups/\(id)").body
        let table = try #require(page.range(of: "<table"))
        let top = page[..<table.lowerBound]
        #expect(top.contains("href=\"/replays/new?group=\(id)&amp;state=open\""))
        #expect(top.contains("action=\"/decisions\""))
        #expect(top.contains("Resolve 3"))
        let fields = [("filter", "group=\(id)&state=open"), ("kind", "resolved"), ("note", "a test root")]
        let asked = try await otto.submit("/decisions", fields, from: "/groups/\(id)")
        #expect(asked.body.contains("3 dead letters would be resolved"))
        let confirmed = fields + [("confirmed", "3")]
        let done = try await otto.submit("/decisions", confirmed, from: "/groups/\(id)")
        #expect(done.location == "/groups/\(id)?done=3")
        let after = try await otto.get("/groups/\(id)?done=3").body
        #expect(after.contains("Recorded for 3 dead letters."))
        #expect(after.contains("None of its dead letters is open."))
        #expect(!after.contains("action=\"/decisions\""))
        let vera = try await fixture.client(as: "vera")
        #expect(try await !vera.get("/groups/\(id)").body.contains("action=\"/decisions\""))
    }

    @Test(arguments: ["0123456789abcdef", "x", "%3Cscript%3E"]) func `a group that does not exist is not found`(
        id: String
    ) async throws {
        let fixture = try await ConsoleFixture()
        #expect(try await fixture.client(as: "vera").get("/groups/\(id)").status == 404)
    }
}
