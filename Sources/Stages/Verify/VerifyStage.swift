package import AppStore
import DeadLetters
package import Kafka
package import Worker

/// The first of the four stages: only what Apple signed for a configured app goes on.
///
/// Stateless but for the verified chains, so a record may be given again at any time.
package final class VerifyStage: Stage {
    package let name = StageName.verify

    private let topic: String
    private let threadsMax: Int
    private let verifiers: VerifierPool
    let metrics: VerifyMetrics

    /// - Parameters:
    ///   - topic: where observations go.
    ///   - threadsMax: how many threads work on one batch together.
    package init(
        configuration: VerifierConfiguration,
        topic: String,
        threadsMax: Int,
        metrics: VerifyMetrics
    ) {
        self.topic = topic
        self.threadsMax = threadsMax
        self.metrics = metrics
        verifiers = VerifierPool(configuration: configuration)
        metrics.judging(by: configuration)
    }

    package func process(_ records: [ConsumerRecord]) async -> [Verdict] {
        let shares = share(records)
        guard shares.count > 1 else { return await verdicts(for: records[...]) }
        let parts = await withTaskGroup(of: (Int, [Verdict]).self) { group in
            for (index, share) in shares.enumerated() {
                group.addTask { [self] in (index, await verdicts(for: share)) }
            }
            return await group.reduce(into: [(Int, [Verdict])]()) { $0.append($1) }
        }
        return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }

    /// A share below this is not worth a thread.
    private static let shareRecordsMin = 16

    private func share(_ records: [ConsumerRecord]) -> [ArraySlice<ConsumerRecord>] {
        let count = max(1, min(threadsMax, records.count / Self.shareRecordsMin))
        return (0..<count).map { part in
            records[(records.count * part / count)..<(records.count * (part + 1) / count)]
        }
    }

    @concurrent
    private func verdicts(for records: ArraySlice<ConsumerRecord>) async -> [Verdict] {
        verifiers.withVerifier { verifier in
            records.map { verdict(for: $0, by: verifier) }
        }
    }

    private func verdict(for record: ConsumerRecord, by verifier: Verifier) -> Verdict {
        switch verifier.verify(record.value) {
        case .success(.ignored(let reason)):
            metrics.ignored(reason)
            return Verdict(.ignored)
        case .success(.items(let items)):
            let headers = record.headers.filter(\.isTravelling)
            let outputs = items.indices.map { index in
                output(items[index], from: record, index: index, of: items.count, headers)
            }
            metrics.verified(items)
            return Verdict(.forwarded, outputs: outputs)
        case .failure(let refusal):
            return .deadLettered(DeadLetterFacts(refusal))
        }
    }

    private func output(
        _ item: VerifiedItem,
        from record: ConsumerRecord,
        index: Int,
        of count: Int,
        _ headers: [KafkaHeader]
    ) -> ProducerRecord {
        let observation = Observation(
            item,
            source: ObservationSource(
                topic: record.topicPartition.topic,
                partition: record.topicPartition.partition,
                offset: record.offset,
                timestamp: record.timestampMilliseconds.map(Timestamp.init(milliseconds:)),
                index: index,
                count: count
            )
        )
        return ProducerRecord(
            topic: topic,
            key: observation.partitionKey,
            value: observation.encode(),
            headers: headers
        )
    }
}
