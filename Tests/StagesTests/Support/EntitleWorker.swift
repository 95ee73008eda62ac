import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import Records
import Telemetry
import TestSupport
import Topology
import Worker

@testable import EntitleStage

/// An entitle worker on a database of its own, with owners written as `link-worker` does.
final class EntitleWorker: Sendable {
    let client: PostgresClient
    let stage: EntitleStage
    let registry: MetricsRegistry
    let log = RecordingLogHandler()

    init(
        shards: Int = 1, expiryNotice: Duration? = nil, listsSubscriptions: Bool = false,
        on client: PostgresClient? = nil
    ) async throws {
        let own: PostgresClient
        if let client { own = client } else { own = try await StageDatabase.make() }
        self.client = own
        registry = MetricsRegistry()
        stage = EntitleStage(
            client: own, shardsMax: shards,
            feed: FeedTopics(
                changed: "storekit.entitlements.changed", current: "storekit.entitlements.current",
                listsSubscriptions: listsSubscriptions), expiryNotice: expiryNotice, metrics: EntitleMetrics(registry),
            log: Log(log))
    }

    func apply(catalog json: [UInt8]) async throws {
        _ = try await client.query(
            "INSERT INTO catalog_versions (content, content_sha256) VALUES ($1, sha256('x'))", [.json(json)])
    }

    /// Projects again, as the loop does on an occasion.
    func reproject() async throws {
        try await stage.upkeep?.work()
        await stage.upkeep?.close()
    }

    func process(_ observations: [Observation], from offset: Int64 = 0) async throws -> [Verdict] {
        try await stage.process(observations.enumerated().map { $1.record(at: offset + Int64($0)) })
    }

    func dispositions(_ observations: [Observation]) async throws -> [Disposition] {
        try await process(observations).map(\.disposition)
    }

    /// Writes the owners of purchases.
    func own(_ ownership: [PurchaseKey: Ownership]) async throws {
        for (key, owner) in ownership {
            _ = try await client.query(
                """
                INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule,
                    spans)
                VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (original_transaction_id, environment, bundle_id)
                DO UPDATE SET user_id = excluded.user_id, spans = excluded.spans
                """,
                [
                    .text(key.environment.rawValue), .text(key.bundleID.text), .text(key.originalTransactionID.text),
                    owner.userID.map { .text($0.text) } ?? .null, .text(owner.rule.rawValue), Self.spans(owner),
                ])
        }
    }

    private static func spans(_ owner: Ownership) -> PostgresValue {
        guard owner.spans.count > 1 else { return .null }
        var writer = JSONWriter()
        writer.array { writer in
            for span in owner.spans {
                writer.array { writer in
                    writer.string(span.userID)
                    if let from = span.from { writer.int(from.milliseconds) } else { writer.null() }
                }
            }
        }
        return .json(writer.bytes)
    }
}
