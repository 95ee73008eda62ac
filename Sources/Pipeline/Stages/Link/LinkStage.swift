import AppStore
import Derivation
package import Entitlements
import Holdings
package import Kafka
package import Postgres
import Records
package import Store
package import Telemetry
import Topology
package import Worker

/// Finds the owner of each purchase.
///
/// The owner depends only on the stored facts, links and policy, not on the order of the records,
/// and is stored in the table `owners`. A record without an owner is forwarded like any other. A
/// purchase with a changed owner is marked in the same transaction, and the outbox sends
/// observations of the purchase until a projection has removed the mark.
package final class LinkStage: DatabaseStage {
    package let outboxes: [any Outbox]
    package let size: TransactionSize

    private let linking: Linking
    private let linkedTopic: String
    private let metrics: LinkMetrics
    private let log: Log

    /// - Parameters:
    ///   - linkedTopic: the topic of the forwarded observations.
    ///   - sweepInterval: the longest time until a changed link is applied whose notification was missed.
    package init(
        client: PostgresClient, rules: OwnershipRules, linkedTopic: String,
        sweepInterval: Duration = .milliseconds(500), metrics: LinkMetrics, log: Log
    ) {
        let linking = Linking(client: client, rules: rules)
        self.linking = linking
        self.linkedTopic = linkedTopic
        self.metrics = metrics
        self.log = log
        size = TransactionSize(statementDeadline: client.statementDeadline)
        outboxes = [LinkOutbox(linking, topic: linkedTopic, sweepInterval: sweepInterval, metrics: metrics, log: log)]
    }

    package var client: PostgresClient { linking.client }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        let verdicts = try await isolating(records[...]) { try await link($0) }
        return try await completed(verdicts, of: records)
    }
}

extension LinkStage {
    private typealias Reading = Result<LinkReading, ObservationError>

    private func link(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var batch = LinkBatch(recordsExpected: records.count)
        var readings: [Reading] = []
        readings.reserveCapacity(records.count)
        for record in records {
            readings.append(
                Result { () throws(ObservationError) in
                    let observation = try Observation(record)
                    return LinkReading(
                        subject: batch.add(observation),
                        environment: observation.accountID == nil ? observation.environment : nil,
                        inputRange: observation.inputRange)
                })
        }
        let outcome = try await linking.settle(batch, hasRecords: true)
        if let claims = outcome.claims { report(claims) }
        return readings.indices.map { index in
            verdict(on: records[records.startIndex + index], readings[index], outcome)
        }
    }

    /// Counts users who came with another user's transaction; they are no contradiction where restores move it.
    private func report(_ claims: OwnershipFactTables.RaisedClaims) {
        if !linking.rules.movesRestored { metrics.contradicted(claims.contradictingCount) }
        guard claims.leftOutCount > 0 else { return }
        metrics.leftOut(claims.leftOutCount)
        log.warning(
            "too many users named for one transaction, the latest are left out", ["claims": .int(claims.leftOutCount)])
    }

    private func verdict(on record: ConsumerRecord, _ reading: Reading, _ outcome: LinkOutcome) -> Verdict {
        do {
            let reading = try reading.get()
            let owner = outcome.owner(of: reading.subject)
            let owned = try record.owned(by: owner, in: reading.environment, for: linkedTopic, reading.inputRange)
            return Verdict(owner.userID == nil ? .unresolved : .resolved, outputs: [owned])
        } catch { return .unreadable(error) }
    }
}

/// The part of a record's observation that is kept until the owner is known.
private struct LinkReading {
    let subject: LinkSubject
    /// The observation's environment.
    ///
    /// `nil` if the record's key names an Apple Account.
    let environment: Environment?
    let inputRange: Range<Int>?
}
