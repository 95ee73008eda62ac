import AppStore
import Kafka
import Postgres
import Records
import TestSupport
import Testing

@testable import DeadLetters
@testable import Store

/// Statements beside an answer about letters that the index has not read.
@Suite(.timeLimit(.minutes(10))) struct IndexStandingTests {
    private static let commands = [
        ["list"], ["count"], ["groups"], ["search", Sample.context(stage: "verify").worker],
    ]

    @Test(arguments: commands) func `an answer names the letters that a stopped index has not read`(arguments: [String])
        async throws
    {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        #expect(await Self.notes(rig, arguments).contains(", all read"))
        try await rig.send(rig.letters(3..<5))
        #expect(await Self.notes(rig, arguments).contains(", 2 letters not read yet\n"))
        _ = try await rig.client.query("UPDATE dead_letter_progress SET at = timestamptz '2026-01-31 12:00:00Z'")
        let stopped = await Self.notes(rig, arguments)
        let text = "as of 2026-01-31T12:00:00Z, 2 letters not read yet: the index has stopped"
        #expect(stopped.contains(text), "\(stopped)")
    }

    @Test func `without Kafka the index answers, and says what is unknown`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        let run = await ToolRun(
            ["list", "--kafka", "127.0.0.1:1", "--prefix", rig.prefix],
            environment: ["DATABASE_URL": rig.options.connectionString])
        #expect(run.exitCode == 0)
        #expect(run.notes.contains("3 of 3 dead letters, as of "), "\(run.notes)")
        #expect(run.notes.contains("; Kafka does not say how many letters are not read yet"))
    }

    @Test func `a partition that is read to its end makes no answer old`() {
        let times = [1_000, 2_000, 3_000].map { Timestamp(milliseconds: $0) }
        let readings = [Int64(5), 3].enumerated().map { partition, next in
            DeadLetterIndexTable.Reading(
                partition: Int32(partition), nextOffset: next, at: StoredTime(times[partition]))
        }
        func standing(_ high: Int64) -> IndexStanding {
            IndexStanding(readings, marks: [0: .init(low: 0, high: high), 1: .init(low: 0, high: 4)], now: times[2])
        }
        #expect(standing(5) == IndexStanding(asOf: times[1], unread: 1, now: times[2]))
        #expect(standing(6) == IndexStanding(asOf: times[0], unread: 2, now: times[2]))
    }

    @Test func `search says how many it shows of how many`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<5))
        try await rig.index()
        let notes = await Self.notes(rig, Self.commands[3] + ["-n2"])
        #expect(notes.hasPrefix("2 of 5 dead letters, "), "\(notes)")
        #expect(await Self.notes(rig, ["search", "none"]).hasPrefix("0 of 0 dead letters, "))
    }

    private static func notes(_ rig: IndexRig, _ arguments: [String]) async -> String {
        await ToolRun(
            arguments + ["--kafka", rig.cluster.bootstrapServers, "--prefix", rig.prefix],
            environment: ["DATABASE_URL": rig.options.connectionString]
        ).notes
    }
}
