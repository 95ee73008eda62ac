import AppStore
import Database
package import Entitlements
package import Kafka
package import Postgres
import Synchronization
package import Worker

/// Finds the user behind each purchase.
///
/// The facts, the links and the policy decide, never what was known when a message passed by: the
/// result stands in the table `owners`, and the message is the occasion to find it. What nobody
/// owns goes on like anything else.
package final class LinkStage: Stage {
    package let name = StageName.link

    private let client: PostgresClient
    private let rules: OwnershipRules
    private let linkedTopic: String
    /// The relinked observations that went on with a record, until they are acknowledged.
    private let relinks = Mutex<[TopicPartition: [Int64: [Relink]]]>([:])

    /// How often a batch that turns out to concern more accounts than were locked is begun again.
    private static let attemptsMax = 5

    /// - Parameter linkedTopic: where to the observations go on.
    package init(client: PostgresClient, rules: OwnershipRules, linkedTopic: String) {
        self.client = client
        self.rules = rules
        self.linkedTopic = linkedTopic
    }

    package func probe() async throws {
        try await SchemaVersion.require(client)
    }

    package func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
        try await RecordFaults.isolating(records[...]) { records in
            try await link(records)
        } refused: { record, error in
            .deadLettered(record, .notStorable, error.recordFaultDetail)
        }
    }

    /// Clears the marks of the changes that the next stage has been told of now.
    package func acknowledged(
        _ records: [ConsumerRecord],
        _ verdicts: [Verdict]
    ) async throws {
        let told = relinks.withLock { relinks in
            records.flatMap { relinks[$0.topicPartition]?[$0.offset] ?? [] }
        }
        guard !told.isEmpty else { return }
        _ = try await client.withConnection { connection in
            try await connection.pipeline([OwnerWriting.told(told)])
        }
        relinks.withLock { relinks in
            for record in records {
                relinks[record.topicPartition]?[record.offset] = nil
            }
        }
    }

    package func abandoned(_ partitions: [TopicPartition]) async {
        relinks.withLock { relinks in
            for partition in partitions {
                relinks[partition] = nil
            }
        }
    }
}

extension LinkStage {
    private typealias Reading = Result<LinkRecord, ObservationError>

    private func link(_ records: ArraySlice<ConsumerRecord>) async throws -> [Verdict] {
        var batch = LinkBatch()
        let readings = records.map { record in
            Reading { () throws(ObservationError) in
                let observation = try Observation(decoding: record.value)
                return LinkRecord(
                    record: record,
                    subject: batch.add(observation),
                    observation: observation
                )
            }
        }
        let outcome = batch.isEmpty ? LinkOutcome() : try await settle(batch)
        var verdicts = readings.map { verdict(on: $0, outcome) }
        tell(outcome.relinks, in: &verdicts, readings)
        return verdicts
    }

    private func settle(_ batch: LinkBatch) async throws -> LinkOutcome {
        var groups: Set<AppTransactionGroup> = []
        for _ in 1..<Self.attemptsMax {
            do {
                return try await settle(batch, locking: groups)
            } catch let missing as LocksMissing {
                groups.formUnion(missing.groups)
            }
        }
        return try await settle(batch, locking: groups)
    }

    private func settle(
        _ batch: LinkBatch,
        locking groups: Set<AppTransactionGroup>
    ) async throws -> LinkOutcome {
        try await client.transaction { [rules] connection in
            var transaction = LinkTransaction(
                connection: connection,
                batch: batch,
                rules: rules,
                locking: groups
            )
            return try await transaction.run()
        }
    }

    private func verdict(on reading: Reading, _ outcome: LinkOutcome) -> Verdict {
        switch reading {
        case .failure(let error):
            return .observationMalformed(error)
        case .success(let linked):
            let owner = outcome.owner(of: linked.subject)
            return Verdict(
                owner.userID == nil ? .unresolved : .resolved,
                outputs: [linked.forwarded(to: linkedTopic, owner: owner)]
            )
        }
    }

    /// Sends the relinked observations with the first record of the batch: they are acknowledged
    /// before its offset is committed, and found untold where it is read again.
    private func tell(
        _ relinked: [Relink],
        in verdicts: inout [Verdict],
        _ readings: [Reading]
    ) {
        guard !relinked.isEmpty else { return }
        for (index, reading) in readings.enumerated() {
            guard case .success(let cause) = reading else { continue }
            verdicts[index].outputs += relinked.map { cause.relinked($0, to: linkedTopic) }
            let record = cause.record
            relinks.withLock {
                $0[record.topicPartition, default: [:]][record.offset] = relinked
            }
            return
        }
    }
}
