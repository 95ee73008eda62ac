import Records
import Store
import AppStore
import EntitleStage
import Entitlements
import Foundation
import Kafka
import Simulation
import Postgres
import Telemetry
import Worker

/// Measures the entitle stage alone, on a PostgreSQL of its own beside it.
struct EntitleBenchmark {
    struct Measurement {
        let kind: EntitleKind
        let storedFacts: Int
        let perSecond: Double
        let cpuMicroseconds: Double
        let serverMicroseconds: Double

        /// Processor time of the stage and of PostgreSQL, for one record.
        var wholeMicroseconds: Double { cpuMicroseconds + serverMicroseconds }
    }

    let kinds: [EntitleKind]
    let records: Int
    let batch: Int
    let shards: Int
    /// Transactions of other purchases that are stored before anything is measured.
    let storedFacts: Int

    private static let users = 100_000

    func run(_ note: (String) -> Void) async throws -> [Measurement] {
        try await PrivatePostgres.lend(.durable) { try await run(on: $0, note) }
    }

    private func run(
        on server: PrivatePostgres,
        _ note: (String) -> Void
    ) async throws -> [Measurement] {
        var options = server.options("bench")
        options.sessionSettings = DatabaseSettings.pointLookups
        let client = PostgresClient(options, connectionsMax: shards + 1)
        try await client.withConnection { connection in
            _ = try await Migrator(try MigrationFolder.find().migrations()).run(on: connection)
            _ = try await CatalogTable.apply(json: EntitleFixture.catalog, on: connection)
        }
        let stage = EntitleStage(
            client: client,
            shardsMax: shards,
            metrics: EntitleMetrics(MetricsRegistry())
        )
        var first = 0
        note("storing \(storedFacts) facts")
        try await StoredFacts.insert(storedFacts, into: options)
        var measurements: [Measurement] = []
        for kind in kinds {
            note("measuring: \(kind.summary)")
            let count = kind == .longRenewal ? max(1, records / 20) : records
            let purchases = first..<(first + count)
            first += count
            try await prepare(purchases, of: kind, client, stage)
            try await StoredFacts.settle(options)
            measurements.append(try await measure(purchases, of: kind, by: stage, server))
        }
        await client.close()
        return measurements
    }

    /// Stores what has to be known of purchases before records of a kind come.
    private func prepare(
        _ purchases: Range<Int>,
        of kind: EntitleKind,
        _ client: PostgresClient,
        _ stage: EntitleStage
    ) async throws {
        try await own(purchases, client)
        let history = try purchases.flatMap {
            try EntitleFixture.history(of: kind, purchase: $0)
        }
        try await process(history, stage)
    }

    private func own(_ purchases: Range<Int>, _ client: PostgresClient) async throws {
        let rows = purchases.map { index in
            (
                key: PurchaseKey(
                    environment: .production,
                    bundleID: "com.example.pro",
                    originalTransactionID: Identifier(EntitleFixture.originalID(index))
                ),
                owner: StoredOwner(
                    Ownership(userID: "user-\(index % Self.users)", rule: .accountToken),
                    directUserID: nil,
                    appTransactionID: nil
                )
            )
        }
        _ = try await client.run(OwnerTable.write.insert, rows)
    }

    private func measure(
        _ purchases: Range<Int>,
        of kind: EntitleKind,
        by stage: EntitleStage,
        _ server: PrivatePostgres
    ) async throws -> Measurement {
        let records = try purchases.map { try EntitleFixture.record(of: kind, purchase: $0) }
        let processID = await server.processID ?? 0
        let clock = ContinuousClock()
        let (start, before) = (clock.now, Self.usage(processID))
        try await process(records, stage)
        let (seconds, after) = ((clock.now - start) / .seconds(1), Self.usage(processID))
        let count = Double(records.count)
        return Measurement(
            kind: kind,
            storedFacts: storedFacts,
            perSecond: count / seconds,
            cpuMicroseconds: (after.stage - before.stage) / count,
            serverMicroseconds: (after.server - before.server) / count
        )
    }

    /// The processor time so far, in microseconds.
    private static func usage(_ server: Int32) -> (stage: Double, server: Double) {
        (
            ProcessUsage.cpuMicroseconds(getpid()) ?? .nan,
            ProcessUsage.treeMicroseconds(server) ?? .nan
        )
    }

    private func process(_ records: [ProducerRecord], _ stage: EntitleStage) async throws {
        var rest = records[...]
        while !rest.isEmpty {
            let part = rest.prefix(batch)
            rest = rest.dropFirst(part.count)
            let verdicts = try await stage.process(
                part.enumerated().map { index, record in
                    ConsumerRecord(
                        topicPartition: TopicPartition(topic: record.topic, partition: 0),
                        offset: Int64(index),
                        key: record.key,
                        value: record.value,
                        headers: record.headers
                    )
                }
            )
            precondition(
                verdicts.allSatisfy { $0.disposition != .deadLettered },
                "the benchmark's own records are refused"
            )
        }
    }
}
