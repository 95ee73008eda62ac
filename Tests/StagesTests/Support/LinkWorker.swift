import AppStore
import Entitlements
import Kafka
import LinkStage
import Postgres
import Records
import Synchronization
import Simulation
import Telemetry
import TestSupport
import Worker

/// A link worker on a database of its own, with the queries of the tests.
final class LinkWorker {
    let client: PostgresClient
    let stage: LinkStage
    let registry = MetricsRegistry()
    let log = RecordingLogHandler()
    private var offset: Int64 = 0

    static let anna = "11111111-aaaa-4aaa-8aaa-111111111111"
    static let bob = "22222222-bbbb-4bbb-8bbb-222222222222"

    init(
        _ rules: OwnershipRules = OwnershipRules(), on client: PostgresClient? = nil,
        sweepInterval: Duration = .milliseconds(500)
    ) async throws {
        let own: PostgresClient
        if let client { own = client } else { own = try await StageDatabase.make() }
        self.client = own
        stage = LinkStage(
            client: own, rules: rules, linkedTopic: "storekit.linked", sweepInterval: sweepInterval,
            metrics: LinkMetrics(registry), log: Log(log))
    }

    /// Links `anna` and `bob` to their account tokens.
    func linkTokens() async throws {
        try await link("account_token", Self.anna, "anna")
        try await link("account_token", Self.bob, "bob")
    }

    func link(_ kind: String, _ key: String, _ user: String) async throws {
        _ = try await client.query(
            "INSERT INTO account_links (kind, key, user_id) VALUES ($1, $2, $3)",
            [.text(kind), .text(key), .text(user)])
    }

    func process(_ samples: [Sample]) async throws -> (records: [ConsumerRecord], verdicts: [Verdict]) {
        let records = try samples.records(from: offset)
        offset += Int64(records.count)
        return (records, try await stage.process(records))
    }

    /// Processes and acknowledges one batch, and lets the outbox send the rest.
    ///
    /// - Returns: the owners of the forwarded records, in order, then relinked purchases as
    ///   `id=user`.
    @discardableResult func settle(_ samples: [Sample]) async throws -> [String?] {
        let (records, verdicts) = try await process(samples)
        try await stage.acknowledged(records, verdicts)
        return try await Self.owners(verdicts.flatMap(\.outputs)) + emptyOutbox()
    }

    /// Gives the outbox an occasion.
    ///
    /// - Returns: the purchases that it sends, as `id=user`.
    @discardableResult func emptyOutbox() async throws -> [String?] {
        let written = Mutex<[ProducerRecord]>([])
        try await stage.outboxes[0].empty { records in written.withLock { $0 += records } }
        return try Self.owners(written.withLock { $0 })
    }

    @discardableResult func settle(_ sample: Sample) async throws -> [String?] { try await settle([sample]) }

    static func owners(_ outputs: [ProducerRecord]) throws -> [String?] {
        try outputs.map { output in
            let observation = try Observation(value: output.value)
            let user = observation.owner?.userID
            return observation.relinkedPurchase.map { "\($0)=\(user ?? "nobody")" } ?? user?.text
        }
    }

    /// The table, as `id user rule` by ID.
    func owners() async throws -> [String] {
        try await client.query(
            """
            SELECT original_transaction_id || ' ' || coalesce(user_id, 'nobody') || ' ' || rule
            FROM owners ORDER BY original_transaction_id
            """
        ).map { $0.text(0) }
    }

    func unsentCount() async throws -> Int64 {
        try await client.query("SELECT count(*) FROM owner_changes WHERE send_due_at <= now()")[0].int8(0)
    }
}

extension Sample {
    /// A purchase of one original transaction ID.
    static func purchase(
        _ original: String, _ transaction: String? = nil, at purchased: Int64 = 1_000, signed: Int64 = 1,
        token: String? = nil, account: String? = nil, until expires: Int64? = nil, claim: Identifier? = nil
    ) -> Sample {
        var sample = Sample.transaction(transaction ?? original, signed: signed) {
            $0.originalTransactionID = original
            $0.purchaseDate = purchased
            $0.expiresDate = expires
            $0.appAccountToken = token
            $0.appTransactionID = account
        }
        sample.ingestUserID = claim
        return sample
    }
}
