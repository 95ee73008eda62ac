import JSON
import Kafka
import Postgres
import Synchronization
import Testing
import Worker

@testable import EntitleStage

final class WrittenRecords: Sendable {
    private let records = Mutex<[ProducerRecord]>([])

    var all: [ProducerRecord] { records.withLock { $0 } }

    func append(_ more: [ProducerRecord]) { records.withLock { $0 += more } }
}

/// The records that an outbox has written, decoded.
struct Published {
    struct Item {
        let userID: String
        let version: Int64
        let value: JSONValue

        var label: String { "\(userID) \(version)" }
    }

    let records: [ProducerRecord]
    let changes: [Item]
    let states: [Item]

    init(_ records: [ProducerRecord]) throws {
        self.records = records
        changes = try Self.items(records, "storekit.entitlements.changed")
        states = try Self.items(records, "storekit.entitlements.current")
    }

    var isEmpty: Bool { records.isEmpty }

    private static func items(_ records: [ProducerRecord], _ topic: String) throws -> [Item] {
        try records.filter { $0.topic == topic }.map { record in
            // Readers of the feed need not be as careful as the verifier.
            let limits = JSONLimits(nodesMax: 10_000_000)
            let root = try JSONDocument(parsing: record.value ?? Array("null".utf8), limits: limits).root
            return Item(
                userID: String(decoding: record.key ?? [], as: UTF8.self), version: root["version"]?.int64 ?? 0,
                value: root)
        }
    }
}

extension EntitleWorker {
    /// Its change feed.
    var feed: any Outbox { stage.outboxes[stage.outboxes.count - 1] }

    /// Gives the feed an occasion.
    func published() async throws -> Published {
        let written = WrittenRecords()
        try await feed.empty { written.append($0) }
        return try Published(written.all)
    }

    /// Sends the waiting changes and is killed before the acknowledgement; returns the records in
    /// flight.
    func killedWhilePublishing() async throws -> [ProducerRecord] {
        struct Killed: Error {}
        let underWay = WrittenRecords()
        await #expect(throws: Killed.self) {
            try await feed.empty {
                underWay.append($0)
                throw Killed()
            }
        }
        return underWay.all
    }

    /// Ends the lease of any holder, as after its time.
    func endLease() async throws {
        _ = try await client.query("UPDATE feed_lease SET until = now() - interval '1 second'")
    }

    /// Ends the delay of repetitions for all users.
    func endRepetitionDelay() async throws { _ = try await client.query("UPDATE feed_repetitions SET due = now()") }
}
