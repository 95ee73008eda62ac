import AppStore
import Derivation
import Entitlements
import Holdings
package import Kafka
package import Postgres
import Records
package import Store
package import Telemetry
import Topology
package import Worker

/// The last stage: stores facts, projects entitlements from them and writes both in one transaction.
///
/// Processing is idempotent without a time limit: after any replay each fact counts once and the
/// rows are the same.
package final class EntitleStage: DatabaseStage {
    package let outboxes: [any Outbox]
    package let upkeep: (any Upkeep)?
    package let client: PostgresClient
    package let size: TransactionSize

    private let catalogs: CatalogStore
    private let shardsMax: Int
    private let metrics: EntitleMetrics
    private let feed: ChangeFeed?

    /// - Parameters:
    ///   - shardsMax: maximum parallel transactions of a batch; its records are sharded by user.
    ///   - feed: the topics of the change feed; `nil` leaves the changes in the outbox, and adds no events of time.
    ///   - expiryNotice: see `EntitleSettings.expiryNotice`.
    ///   - log: receives the purchases that PostgreSQL rejects in work without a record; `nil` logs nothing.
    package init(
        client: PostgresClient, shardsMax: Int = 2, feed: FeedTopics? = nil, expiryNotice: Duration? = nil,
        metrics: EntitleMetrics, log: Log? = nil
    ) {
        let refusals = Refusals(metrics: metrics, log: log)
        let changeFeed = feed.map { ChangeFeed(client: client, topics: $0, metrics: metrics, refusals: refusals) }
        self.feed = changeFeed
        outboxes = changeFeed.map { [TimeEvents(client: client, notice: expiryNotice ?? .zero, feed: $0), $0] } ?? []
        self.client = client
        self.shardsMax = shardsMax
        self.metrics = metrics
        size = TransactionSize(statementDeadline: client.statementDeadline)
        catalogs = CatalogStore()
        upkeep = Reprojection(client: client, catalogs: catalogs, metrics: metrics, refusals: refusals)
    }

    /// Maximum records of a batch: one transaction's maximum for each shard.
    package var recordsMax: Int {
        let (count, isTooLarge) = size.recordsMax.multipliedReportingOverflow(by: shardsMax)
        return isTooLarge ? .max : count
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        try await completed(try await verdicts(on: records), of: records)
    }

    private func verdicts(on records: [ConsumerRecord]) async throws -> [Verdict] {
        let shards = BatchShards.indices(of: records, shardsMax: shardsMax)
        if shards.count == 1 { return try await entitle(records[...]) }
        var verdicts = [Verdict?](repeating: nil, count: records.count)
        try await withThrowingTaskGroup(of: ([Int], [Verdict]).self) { group in
            for shard in shards {
                group.addTask { [self] in (shard, try await entitle(shard.map { records[$0] }[...])) }
            }
            for try await (shard, results) in group {
                for (index, verdict) in zip(shard, results) { verdicts[index] = verdict }
            }
        }
        return verdicts.compactMap { $0 }
    }

    @concurrent private func entitle(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        try await isolating(records) { try await settle($0) }
    }

    private func settle(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var readings: [Result<EntitleRecord, ObservationError>] = []
        var readable: [EntitleRecord] = []
        readings.reserveCapacity(records.count)
        readable.reserveCapacity(records.count)
        var awaited: [Int] = []
        for record in records {
            let reading = Result { () throws(ObservationError) in EntitleRecord(try Observation(record)) }
            readings.append(reading)
            guard case .success(let entitling) = reading else { continue }
            if record.correlationID != nil { awaited.append(readable.count) }
            readable.append(entitling)
        }
        let settled = try await settle(readable, awaited)
        var index = 0
        return readings.enumerated().map { offset, reading in
            switch reading {
            case .failure(let error): return .unreadable(error)
            case .success(let entitling):
                defer { index += 1 }
                var verdict = verdict(on: records[records.startIndex + offset], settled.outcomes[index])
                verdict.bodyWrittenAt = entitling.bodyWrittenAt
                verdict.outcome = settled.answers[index]?.outcome(
                    settled.outcomes[index], isAboutPurchase: entitling.scope != nil)
                return verdict
            }
        }
    }

    /// Runs one transaction, and repeats it without the records that contradict known facts.
    private func settle(_ records: [EntitleRecord], _ awaited: [Int]) async throws -> SettledBatch {
        guard !records.isEmpty else { return SettledBatch(outcomes: []) }
        var refused: [Int: ImmutableField] = [:]
        while true {
            do {
                let outcome = try await client.inserting { [refused] connection, newRows in
                    let transaction = EntitleTransaction(
                        connection: connection, records: records, refused: refused, catalogs: catalogs,
                        awaited: awaited, newRows: newRows)
                    return try await transaction.run()
                }
                metrics.settled(outcome)
                if outcome.changes > 0 { feed?.wake() }
                return outcome
            } catch let contradicted as ContradictedFacts { refused.merge(contradicted.records) { known, _ in known } }
        }
    }

    private func verdict(on record: ConsumerRecord, _ outcome: EntitleOutcome) -> Verdict {
        switch outcome {
        case .applied: Verdict(.applied)
        case .unchanged, .superseded: Verdict(.unchanged)
        case .recorded: Verdict(.recorded)
        case .conflict(let field):
            .deadLettered(
                record, .transactionConflict,
                detail: "\(field.rawValue) differs from what is recorded of the transaction")
        }
    }
}
