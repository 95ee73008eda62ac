import AppStore
import Entitlements
import Kafka
import LinkStage
import Postgres
import Records
import Synchronization
import Telemetry
import TestSupport
import Testing
import Worker

/// Workers side by side, and the stage behind the real `LinkStage`.
struct EntitleStageConcurrencyTests {
    @Test func `two workers with the same purchases end with the fold's rows`() async throws {
        let first = try await EntitleWorker()
        let second = try await EntitleWorker(on: first.client)
        let history = try Self.history()
        var facts = FactSet()
        for observation in history { facts.add(observation) }
        let owners = Ownership(userID: "anna", rule: .accountToken)
        let keys = Set(facts.transactions.values.joined().map(\.value.purchaseKey))
        try await first.own(Dictionary(uniqueKeysWithValues: keys.map { ($0, owners) }))
        try await first.apply(catalog: Self.catalog)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in [first, second] {
                let order = (history + history).shuffled()
                group.addTask { try await worker.processInBatches(order) }
            }
            try await group.waitForAll()
        }
        let fold = EntitlementFold(
            facts,
            links: AccountLinks(
                userByOriginalTransactionID: Dictionary(
                    uniqueKeysWithValues: keys.map { ($0.originalTransactionID, "anna") })),
            catalog: try Catalog(json: Self.catalog))
        #expect(try await first.rows() == fold.rows)
        #expect(try await first.rowsByHistory() == fold.rows)
        #expect(try await first.usersWithBrokenVersions() == [])
    }

    @Test(arguments: Scenario.names) func `behind the real link stage the rows are the scenario's`(name: String)
        async throws
    {
        let scenario = try Scenario.load(name)
        let worker = try await EntitleWorker()
        try await worker.apply(catalog: scenario.catalogJSON)
        try await worker.link(scenario.links)
        let link = LinkStage(
            client: worker.client, rules: scenario.rules, linkedTopic: "storekit.linked",
            metrics: LinkMetrics(MetricsRegistry()), log: Log(RecordingLogHandler()))
        var facts = FactSet()
        for (offset, observation) in scenario.observations.shuffled().enumerated() {
            facts.add(observation)
            let record = observation.record(at: Int64(offset))
            let verdicts = try await link.process([record])
            try await link.acknowledged([record], verdicts)
            let linked = try verdicts.flatMap(\.outputs).map { output in try Observation(value: output.value) }
            _ = try await worker.process(linked)
        }
        // A link observation of an owner changed by another purchase differs from any record.
        for outbox in link.outboxes {
            _ = try await worker.process(try await outbox.observations())
            await outbox.close()
        }
        #expect(try await worker.rows() == scenario.fold(facts).rows)
        #expect(try await worker.balances() == scenario.balances)
    }

    private static let catalog = Array(
        """
        {"products":{"pro":{"type":"auto-renewable"},
          "season":{"type":"non-renewing","duration":"P1D"}}}
        """.utf8)

    /// Subscriptions with refunds and reversals, and seasons that extend each other.
    private static func history() throws -> [Observation] {
        try (1...6).flatMap { original in
            try (1...4).flatMap { number in
                let purchased = Int64(number) * 1000 + Int64(original)
                return try (1...3).map { signed in
                    try Signed.transaction(
                        original > 3 ? "\(original)\(number)" : "\(original)-\(number)", signed: Int64(signed),
                        original: original > 3 ? nil : "\(original)", product: original > 3 ? "season" : "pro",
                        type: original > 3 ? .nonRenewing : .autoRenewable, purchased: purchased,
                        expires: purchased + 900, revoked: (signed + number) % 3 == 0 ? purchased + 300 : nil)
                }
            }
        }
    }
}

extension Outbox {
    /// All waiting observations.
    fileprivate func observations() async throws -> [Observation] {
        let written = Mutex<[ProducerRecord]>([])
        try await empty { records in written.withLock { $0 += records } }
        return try written.withLock { $0 }.map { record in try Observation(value: record.value) }
    }
}

extension EntitleWorker {
    fileprivate func processInBatches(_ observations: [Observation]) async throws {
        var rest = observations[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Int.random(in: 1...12)))
            rest = rest.dropFirst(batch.count)
            _ = try await process(batch)
        }
    }

    fileprivate func link(_ links: AccountLinks) async throws {
        let tokens = links.userByToken.map { ("account_token", Identifier($0.key.canonical), $0.value) }
        let apps = links.userByAppTransactionID.map { ("app_transaction_id", $0.key, $0.value) }
        let purchases = links.userByOriginalTransactionID.map { ("original_transaction_id", $0.key, $0.value) }
        for (kind, key, user) in tokens + apps + purchases {
            _ = try await client.query(
                "INSERT INTO account_links (kind, key, user_id) VALUES ($1, $2, $3)",
                [.text(kind), .text(key.text), .text(user.text)])
        }
    }
}
