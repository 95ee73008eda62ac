package import AppStore
import Entitlements
package import Kafka
import OpenSSL
import Records
import Settings
import Synchronization
import Topology
package import Worker

/// The first of the four stages: forwards only data that Apple signed for a configured app.
///
/// The stage keeps no state except verified chains, so a record may be processed again at any time.
package final class VerifyStage: Stage {
    private let topic: String
    private let threadsMax: Int
    private let bodyOutputBytesMax: Int
    private let verifiers: VerifierPool
    let metrics: VerifyMetrics
    let leaves: LeafWatch
    let revocations: RevocationLookup?

    /// - Parameters:
    ///   - topic: the topic of the observations.
    ///   - threadsMax: maximum threads that work on one batch.
    ///   - bodyOutputBytesMax: maximum total bytes of the observations of one body.
    ///   - revocations: the revocation lookup; `nil` if no responder is asked.
    package init(
        configuration: VerifierConfiguration, topic: String, threadsMax: Int,
        bodyOutputBytesMax: Int = VerifySettings.outputBytesMaxDefault, metrics: VerifyMetrics, leaves: LeafWatch,
        revocations: RevocationLookup? = nil
    ) {
        self.topic = topic
        self.threadsMax = threadsMax
        self.bodyOutputBytesMax = bodyOutputBytesMax
        self.metrics = metrics
        self.leaves = leaves
        self.revocations = revocations
        var configuration = configuration
        configuration.observer = ChainObservers(leaves: leaves, revocations: revocations)
        verifiers = VerifierPool(configuration: configuration)
        metrics.verifying(by: configuration)
    }

    /// Throws `RevocationUnknown` if valid records have to wait for a responder.
    ///
    /// Processes only the first records if their outputs reach the maximum of one batch.
    package func process(_ records: [ConsumerRecord]) async throws(RevocationUnknown) -> [Verdict] {
        let snapshot = revocations?.refresh()
        let queue = RecordQueue(records, outputBytesMax: Self.batchOutputBytesMax)
        let parts = await verify(queue, snapshot)
        let awaited = parts.reduce(into: Set<SHA256Digest>()) { $0.formUnion($1.awaited) }
        if let revocations, !awaited.isEmpty { throw revocations.wait(for: awaited) }
        return parts.flatMap(\.verdicts).sorted { $0.index < $1.index }.map(\.verdict)
    }

    /// Total bytes of a batch's observations after which no further body is verified.
    private static let batchOutputBytesMax = 8 << 20

    /// The verdicts of one thread on the records that it took from the queue.
    private struct Part: Sendable {
        var verdicts: [(index: Int, verdict: Verdict)] = []
        /// Certificates whose status records wait for; these records have no verdict.
        var awaited: Set<SHA256Digest> = []
    }

    /// Minimum records for which a further thread is started.
    private static let threadRecordsMin = 16

    private func verify(_ queue: RecordQueue, _ snapshot: RevocationSnapshot?) async -> [Part] {
        let threads = min(threadsMax, queue.records.count / Self.threadRecordsMin)
        guard threads > 1 else { return [await verifyShare(of: queue, snapshot)] }
        return await withTaskGroup(of: Part.self) { group in
            for _ in 0..<threads { group.addTask { [self] in await verifyShare(of: queue, snapshot) } }
            return await group.reduce(into: [Part]()) { $0.append($1) }
        }
    }

    /// Verifies records until the queue is empty.
    @concurrent private func verifyShare(of queue: RecordQueue, _ snapshot: RevocationSnapshot?) async -> Part {
        verifiers.withVerifier(knowing: snapshot) { verifier in
            let passedBefore = verifier.passedUnknown
            let unknownBefore = verifier.unknownKinds
            let lookupsBefore = verifier.chainLookups
            var part = Part()
            while let index = queue.next() {
                let verdict = verdict(for: queue.records[index], by: verifier, &part.awaited)
                queue.addOutputBytes(verdict.outputs.reduce(0) { $0 + $1.batchBytesMax })
                part.verdicts.append((index, verdict))
            }
            metrics.revocations.passedUnknown(verifier.passedUnknown - passedBefore)
            metrics.ignoredKinds(verifier.unknownKinds - unknownBefore)
            metrics.lookedUp(
                found: verifier.chainLookups.found - lookupsBefore.found,
                missed: verifier.chainLookups.missed - lookupsBefore.missed, cached: verifier.chainsCached)
            return part
        }
    }

    private func verdict(for record: ConsumerRecord, by verifier: Verifier, _ awaited: inout Set<SHA256Digest>)
        -> Verdict
    {
        metrics.refusedHeaders(record.headers.refusedTravelling)
        switch verifier.verify(record.value) {
        case .success(.undetermined(let certificates)):
            awaited.formUnion(certificates)
            return Verdict(.ignored)
        case .success(.ignored(let reason)):
            metrics.ignored(reason)
            return Verdict(.ignored, outcome: Outcome(.ignored))
        case .success(.items(let items)): return forward(items, of: record)
        case .failure(let refusal): return .deadLettered(refusal, evidence: refusal.evidence)
        }
    }

    private func forward(_ items: [VerifiedItem], of record: ConsumerRecord) -> Verdict {
        do {
            guard let outputs = try outputs(items, of: record) else { return .deadLettered(tooMuch(items)) }
            metrics.verified(items)
            leaves.signed(items)
            return Verdict(.forwarded, outputs: outputs, evidence: .accepted)
        } catch { return .deadLettered(incomplete(error)) }
    }

    /// The user that the ingestion service names.
    ///
    /// `nil` if the service names nobody.
    private func ingestUserID(of record: ConsumerRecord) -> Identifier? {
        switch IngestUser(record.headers) {
        case .unnamed: return nil
        case .named(let userID): return userID
        case .malformed:
            metrics.ignoredIngestUser()
            return nil
        }
    }

    /// The observations of a body.
    ///
    /// `nil` if their total size is too large.
    ///
    /// The heads are written before the size check, the payloads are copied after it.
    private func outputs(_ items: [VerifiedItem], of record: ConsumerRecord) throws(IncompletePayload)
        -> [ProducerRecord]?
    {
        let headers = record.headers.travelling
        let user = ingestUserID(of: record)
        var encoded: [EncodedObservation] = []
        encoded.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            let observation = try Observation(
                item,
                source: ObservationSource(
                    RecordPosition(record), timestamp: record.timestampMilliseconds.map(Timestamp.init(milliseconds:)),
                    index: index, count: items.count), ingestUserID: user)
            encoded.append(observation.encoded())
        }
        // A key is part of its observation, and a header is short text.
        let headersMax = headers.reduce(0) { $0 + $1.nameBytes.count + ($1.value?.count ?? 0) }
        let bytesMax = encoded.reduce(0) { $0 + $1.valueBytes + headersMax }
        guard bytesMax <= bodyOutputBytesMax else { return nil }
        return encoded.map { $0.record(for: topic, headers: headers) }
    }

    /// Refuses an incomplete payload; the verifier should have required every member that facts need.
    private func incomplete(_ error: IncompletePayload) -> Refusal {
        Refusal(reason: .payloadMalformed, detail: "a field is missing that a fact of \(error.payload.rawValue) needs")
    }

    private func tooMuch(_ items: [VerifiedItem]) -> Refusal {
        Refusal(
            reason: .payloadTooLarge,
            detail: "its \(items.count) observations are more than \(bodyOutputBytesMax) bytes")
    }
}

extension Refusal {
    /// The evidence for the breaker.
    ///
    /// A refusal with valid signatures is evidence against the settings.
    fileprivate var evidence: Breaker.Evidence? {
        signedPayload.map { payload in
            .refused(
                Breaker.Refused(
                    content: payload,
                    subject: "\(Self.named(unverified.bundleID, "no bundle ID")) in "
                        + Self.named(unverified.environment, "no environment")))
        }
    }

    private static func named(_ text: String?, _ absent: String) -> String {
        text.map { Printable.line($0, lengthMax: 100) } ?? absent
    }
}

/// The records of a batch, taken one by one by several threads, in order.
private final class RecordQueue: Sendable {
    private struct State {
        var next = 0
        var outputBytes = 0
    }

    let records: [ConsumerRecord]
    private let outputBytesMax: Int
    private let state = Mutex(State())

    init(_ records: [ConsumerRecord], outputBytesMax: Int) {
        self.records = records
        self.outputBytesMax = outputBytesMax
    }

    /// The index of the next record.
    ///
    /// `nil` at the end, or if the outputs are large enough.
    func next() -> Int? {
        state.withLock { state in
            guard state.next < records.count, state.outputBytes < outputBytesMax else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func addOutputBytes(_ bytes: Int) { state.withLock { $0.outputBytes += bytes } }
}
