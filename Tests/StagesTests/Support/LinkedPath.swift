import AppStore
import EntitleStage
import Entitlements
import Kafka
import LinkStage
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Worker

/// The last two stages on one database, with the topic between them in memory.
final class LinkedPath: Sendable {
    let client: PostgresClient
    let registry = MetricsRegistry()
    private let entitle: EntitleStage
    private let link: LinkStage
    private let linked = Mutex<[ConsumerRecord]>([])

    init() async throws {
        client = try await StageDatabase.make()
        entitle = EntitleStage(client: client, metrics: EntitleMetrics(registry))
        link = LinkStage(
            client: client, rules: OwnershipRules(), linkedTopic: "storekit.linked", metrics: LinkMetrics(registry),
            log: Log(RecordingLogHandler()))
    }

    /// Lets `link-worker` process samples, and keeps its output in the topic.
    func post(_ samples: [Sample]) async throws {
        let verdicts = try await link.process(try samples.records())
        append(verdicts.flatMap(\.outputs))
    }

    /// Lets the outbox of `link-worker` work, and keeps its output in the topic.
    func emptyOutbox() async throws { try await link.outboxes[0].empty { self.append($0) } }

    /// The same, but the topic loses the output.
    ///
    /// - Returns: how many records were sent.
    func emptyOutboxInVain() async throws -> Int {
        let count = Mutex(0)
        try await link.outboxes[0].empty { records in count.withLock { $0 += records.count } }
        return count.withLock { $0 }
    }

    /// Lets `entitle-worker` process the topic; one caller at a time.
    @discardableResult func project() async throws -> [Verdict] {
        let records = linked.withLock { $0 }
        guard !records.isEmpty else { return [] }
        let verdicts = try await entitle.process(records)
        linked.withLock { $0.removeFirst(records.count) }
        return verdicts
    }

    /// Loses the records of the topic.
    func loseLinked() { linked.withLock { $0 = [] } }

    private func append(_ records: [ProducerRecord]) {
        linked.withLock { linked in
            for record in records { linked.append(ConsumerRecord(record, at: Int64(linked.count))) }
        }
    }

    /// The holders of each purchase's entitlements: as `id user`, by ID.
    func held() async throws -> [String] {
        try await client.query(
            """
            SELECT original_transaction_id || ' ' || user_id FROM entitlements
            ORDER BY original_transaction_id COLLATE "C"
            """
        ).map { $0.text(0) }
    }

    /// Writes links of a kind, from each key to its user.
    func write(_ kind: String, _ links: [(key: String, user: String)]) async throws {
        guard !links.isEmpty else { return }
        _ = try await client.query(
            """
            INSERT INTO account_links (kind, key, user_id)
            SELECT $1, key, user_id FROM unnest($2::text[], $3::text[]) AS link (key, user_id)
            ON CONFLICT (key, kind, environment, bundle_id)
            DO UPDATE SET user_id = excluded.user_id
            """, [.text(kind), .textArray(links.map(\.key)), .textArray(links.map(\.user))])
    }

    func removeLinks(_ keys: [String]) async throws {
        guard !keys.isEmpty else { return }
        _ = try await client.query("DELETE FROM account_links WHERE key = ANY ($1)", [.textArray(keys)])
    }
}
