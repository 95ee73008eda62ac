import DeadLetters
import Kafka
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// Replays that are begun, stopped, continued and abandoned in the console.
@Suite(.timeLimit(.minutes(10))) struct ConsoleReplayTests {
    /// Begins a replay of both letters; returns the path of its page.
    private static func begin(_ client: ConsoleClient) async throws -> String {
        let begun = try await client.submit(
            "/replays",
            [("filter", "class=forged"), ("why", "a test"), ("rate", "100"), ("share", "10"), ("confirmed", "2")],
            from: "/help")
        #expect(begun.status == 303)
        return try #require(begun.location)
    }

    private static func eventually(_ client: ConsoleClient, _ path: String, shows text: String) async throws {
        try await TestSupport.eventually("\(path) has to show \(text)") {
            try await client.get(path).body.contains(text)
        }
    }

    @Test func `an operator stops, continues and abandons a replay, and each is recorded`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<2).map { .plain($0) })
        let otto = try await fixture.client(as: "otto")
        let path = try await Self.begin(otto)
        // No worker reads, so it waits.
        try await Self.eventually(otto, path, shows: "Stop after the records in flight")
        let why = [("why", "not needed")]
        #expect(try await otto.submit(path + "/abandon", why, from: path).status == 409)

        #expect(try await otto.submit(path + "/stop", [], from: path).status == 303)
        try await Self.eventually(otto, path, shows: "Send the remaining records")
        #expect(try await otto.get(path).body.contains("stopped by otto"))
        #expect(try await otto.submit(path + "/stop", [], from: path).status == 409)

        #expect(try await otto.submit(path + "/continue", [], from: path).status == 303)
        try await Self.eventually(otto, path, shows: "Stop after the records in flight")
        #expect(try await otto.submit(path + "/stop", [], from: path).status == 303)
        try await Self.eventually(otto, path, shows: "Send the remaining records")

        let unsaid = try await otto.submit(path + "/abandon", [], from: path)
        #expect(unsaid.status == 409 && unsaid.body.contains("expected a reason"))
        #expect(try await otto.submit(path + "/abandon", why, from: path).status == 303)
        let page = try await otto.get(path).body
        #expect(page.contains("not needed") && !page.contains("Send the remaining records"))
        #expect(try await otto.submit(path + "/continue", [], from: path).status == 409)
        let actions = try await DeadLetterActionTable.newest(limit: 50, on: fixture.database).filter {
            $0.replay != nil && $0.deadLetterID == nil
        }
        #expect(actions.allSatisfy { $0.who == "otto" })
        #expect(actions.count { $0.kind == .replayStopped } == 2, "\(actions)")
        #expect(actions.last?.kind == .replayStarted)
    }

    /// A list of many letters is long on a phone.
    @Test func `what can be decided stands before the letters`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<2).map { .plain($0) })
        let otto = try await fixture.client(as: "otto")
        for (path, decision) in [("/replays/new?class=forged", "Begin the replay"), ("/search?class=forged", "Record")]
        {
            let page = try await otto.get(path).body
            let form = try #require(page.firstRange(of: decision))
            let letter = try #require(page.firstRange(of: "href=\"/letters/"))
            #expect(form.lowerBound < letter.lowerBound, "\(path)")
        }
    }

    @Test func `a replay continues after the browser has left and its user has signed out`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<2).map { .plain($0) })
        let otto = try await fixture.client(as: "otto")
        let path = try await Self.begin(otto)
        let number = try #require(path.split(separator: "/").last.flatMap { Int64($0) })
        #expect(try await otto.submit("/sign-out", [], from: path).status == 303)
        #expect(try await otto.get(path).status == 303)

        let raw = DeadLetterTopic(name: "storekit.raw", configuration: fixture.cluster.client)
        try await TestSupport.eventually("both have to be sent") {
            try await raw.watermarks().values.reduce(0) { $0 + $1.high - $1.low } == 2
        }
        try await Self.settle(try await raw.watermarks().mapValues(\.high), fixture)
        try await TestSupport.eventually("it has to be completed") {
            try await fixture.replays.replay(number)?.effectiveState == .completed
        }
        let row = try #require(try await fixture.replays.replay(number))
        #expect(row.counts.accepted == 2)
        let page = try await fixture.client(as: "vera").get(path).body
        #expect(page.contains("Finished: 2 accepted, 0 refused again."))
    }

    @Test(.needsChromium) func `an open page says by itself that its replay has finished`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<2).map { .plain($0) })
        let path = try await Self.begin(try await fixture.client(as: "otto"))
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: "otto")
        try await browser.open("http://127.0.0.1:\(fixture.port)\(path)")
        try await TestSupport.eventually("it has to run") {
            try await browser.contents(of: "#controls button") == ["Stop after the records in flight"]
        }
        // The element stays, so that a screen reader reads the change aloud.
        try await browser.run("window.kept = document.querySelector('#outcome[role=status]')")
        #expect(try await browser.contents(of: "#outcome") == [""])
        let raw = DeadLetterTopic(name: "storekit.raw", configuration: fixture.cluster.client)
        try await TestSupport.eventually("both have to be sent") {
            try await raw.watermarks().values.reduce(0) { $0 + $1.high - $1.low } == 2
        }
        try await Self.settle(try await raw.watermarks().mapValues(\.high), fixture)
        try await TestSupport.eventually("the page has to say so") {
            try await browser.texts("return [window.kept.textContent]") == ["Finished: 2 accepted, 0 refused again."]
        }
        #expect(try await browser.contents(of: "title").first?.contains("completed") == true)
        try await TestSupport.eventually("the button has to go") {
            try await browser.contents(of: "#controls button").isEmpty
        }
        #expect(try await browser.complaints().isEmpty)
        await browser.close()
    }

    /// Commits as the stage does after it has accepted everything.
    private static func settle(_ ends: [Int32: Int64], _ fixture: ConsoleFixture) async throws {
        let group = ["group.id": "entitlements.verify"]
        let consumer = try KafkaConsumer(configuration: fixture.cluster.client.merging(group) { $1 })
        let positions = ends.map { partition, end in (TopicPartition(topic: "storekit.raw", partition: partition), end)
        }
        try await consumer.assign(with: Dictionary(uniqueKeysWithValues: positions.map { ($0.0, Optional($0.1)) }))
        let commits = positions.map { ($0.0, OffsetCommit(offset: $0.1, metadata: "")) }
        let outcome = await consumer.commit(Dictionary(uniqueKeysWithValues: commits), deadline: .seconds(10))
        #expect(outcome.failures.isEmpty)
        await consumer.close(deadline: .seconds(5))
    }
}
