package import AppStore
import DeadLetters
package import Kafka
import OpenSSL
package import Worker

/// The first of the four stages: only what Apple signed for a configured app goes on.
///
/// Stateless but for the verified chains, so a record may be given again at any time.
package final class VerifyStage: Stage {
    package let name = StageName.verify

    private let topic: String
    private let threadsMax: Int
    private let trustsIngestUser: Bool
    private let verifiers: VerifierPool
    let metrics: VerifyMetrics
    let leaves: LeafWatch
    let revocations: RevocationLookup?

    /// - Parameters:
    ///   - topic: where observations go.
    ///   - trustsIngestUser: whether the header is read by which ingestion names the user.
    ///   - threadsMax: how many threads work on one batch together.
    ///   - revocations: nil where nobody is asked about them.
    package init(
        configuration: VerifierConfiguration,
        topic: String,
        trustsIngestUser: Bool = false,
        threadsMax: Int,
        metrics: VerifyMetrics,
        leaves: LeafWatch,
        revocations: RevocationLookup? = nil
    ) {
        self.topic = topic
        self.trustsIngestUser = trustsIngestUser
        self.threadsMax = threadsMax
        self.metrics = metrics
        self.leaves = leaves
        self.revocations = revocations
        var configuration = configuration
        configuration.observer = ChainWatch(leaves: leaves, revocations: revocations)
        verifiers = VerifierPool(configuration: configuration)
        metrics.judging(by: configuration)
    }

    /// Throws `RevocationUnknown` where good records have to wait for a responder.
    package func process(
        _ records: [ConsumerRecord]
    ) async throws(RevocationUnknown) -> [Verdict] {
        let snapshot = revocations?.refresh()
        let parts = await judge(share(records), snapshot)
        let awaited = parts.reduce(into: Set<SHA256Digest>()) { $0.formUnion($1.awaited) }
        if let revocations, !awaited.isEmpty {
            throw revocations.wait(for: awaited)
        }
        return parts.flatMap(\.verdicts)
    }

    /// What has become of a share of a batch.
    private struct Part: Sendable {
        var verdicts: [Verdict] = []
        /// Certificates for whose sake a record has to wait, so that its verdict is none.
        var awaited: Set<SHA256Digest> = []
    }

    /// The parts in the order of their shares.
    private func judge(
        _ shares: [ArraySlice<ConsumerRecord>],
        _ snapshot: RevocationSnapshot?
    ) async -> [Part] {
        guard shares.count > 1 else { return [await judge(shares[0], snapshot)] }
        let parts = await withTaskGroup(of: (Int, Part).self) { group in
            for (index, share) in shares.enumerated() {
                group.addTask { [self] in (index, await judge(share, snapshot)) }
            }
            return await group.reduce(into: [(Int, Part)]()) { $0.append($1) }
        }
        return parts.sorted { $0.0 < $1.0 }.map(\.1)
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
    private func judge(
        _ records: ArraySlice<ConsumerRecord>,
        _ snapshot: RevocationSnapshot?
    ) async -> Part {
        verifiers.withVerifier(knowing: snapshot) { verifier in
            let passedBefore = verifier.passedUnknown
            var part = Part()
            part.verdicts.reserveCapacity(records.count)
            for record in records {
                part.verdicts.append(verdict(for: record, by: verifier, &part.awaited))
            }
            metrics.revocations.passedUnknown(verifier.passedUnknown - passedBefore)
            return part
        }
    }

    private func verdict(
        for record: ConsumerRecord,
        by verifier: Verifier,
        _ awaited: inout Set<SHA256Digest>
    ) -> Verdict {
        switch verifier.verify(record.value) {
        case .success(.undetermined(let certificates)):
            awaited.formUnion(certificates)
            return Verdict(.ignored)
        case .success(.ignored(let reason)):
            metrics.ignored(reason)
            return Verdict(.ignored)
        case .success(.items(let items)):
            let headers = record.headers.filter(\.isTravelling)
            let user = ingestUserID(of: record)
            let outputs = items.indices.map { index in
                output(items[index], from: record, index: index, of: items.count, headers, user)
            }
            metrics.verified(items)
            leaves.signed(items)
            return Verdict(.forwarded, outputs: outputs)
        case .failure(let refusal):
            return .deadLettered(DeadLetterFacts(refusal))
        }
    }

    /// The user whom the ingestion service names; nil where it is not trusted, or names nobody.
    private func ingestUserID(of record: ConsumerRecord) -> String? {
        guard trustsIngestUser else { return nil }
        switch IngestUser(record.headers) {
        case .unnamed: return nil
        case .named(let userID): return userID
        case .malformed:
            metrics.ignoredIngestUser()
            return nil
        }
    }

    private func output(
        _ item: VerifiedItem,
        from record: ConsumerRecord,
        index: Int,
        of count: Int,
        _ headers: [KafkaHeader],
        _ ingestUserID: String?
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
            ),
            ingestUserID: ingestUserID
        )
        return ProducerRecord(
            topic: topic,
            key: observation.partitionKey,
            value: observation.encode(),
            headers: headers
        )
    }
}
