package import AppStore
import JSON
package import Kafka
package import OpenSSL

/// A writer that makes the dead letter of a record, without sending it.
package protocol DeadLetterWriting: Sendable {
    /// - Parameters:
    ///   - value: the state of the value; `omitted` once the broker has refused the letter for its size.
    ///   - previous: the last link of the chain; `nil` for a chain's first letter.
    func letter(for record: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue, after previous: SHA256Digest?)
        -> ChainedLetter
}

/// A dead letter to write, and the digest of its link, to which the next link refers.
package struct ChainedLetter: Sendable {
    package var record: ProducerRecord
    package let digest: SHA256Digest
}

/// The properties shared by all dead letters of one worker.
package struct DeadLetterContext: Sendable {
    /// The cluster's ID as its brokers report it; otherwise the bootstrap servers.
    package let cluster: String

    /// The dead-letter topic, including its prefix.
    package let topic: String

    /// The stage, as in `dlq.stage`.
    package let stage: String

    /// Whether the stage reads observations; otherwise it reads bodies, which anybody may have sent.
    package let readsObservations: Bool

    package let worker: String
    package let verifierVersion: String

    /// The digest of the settings that determine refusals.
    package let configuration: SHA256Digest

    /// The topic's limit, minus space for the record's frame.
    package let recordBytesMax: Int

    /// The limit of 3 MiB that `pipeline topics` sets for the dead-letter topic, minus the frame.
    package static let recordBytesMaxDefault = (3 << 20) - (16 << 10)

    package init(
        cluster: String, topic: String, stage: String, readsObservations: Bool, worker: String, verifierVersion: String,
        configuration: SHA256Digest, recordBytesMax: Int = recordBytesMaxDefault
    ) {
        self.cluster = cluster
        self.topic = topic
        self.stage = stage
        self.readsObservations = readsObservations
        self.worker = worker
        self.verifierVersion = verifierVersion
        self.configuration = configuration
        self.recordBytesMax = recordBytesMax
    }
}

/// A writer of dead letters; it is pure: equal input gives equal records.
package struct DeadLetterWriter: DeadLetterWriting {
    package let context: DeadLetterContext

    package init(_ context: DeadLetterContext) { self.context = context }

    /// Makes the dead letter of a record, with its unchanged key, value and headers, and the reason.
    ///
    /// The value is omitted if `value` says so, or if the letter would exceed `recordBytesMax`; the original's headers
    /// and key are omitted if the letter is too large even without the value. `dlq.source.*` contains the position of
    /// the original.
    package func letter(
        for original: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue, after previous: SHA256Digest?
    ) -> ChainedLetter {
        var added = headers(for: original, refusal, after: previous)
        var room = context.recordBytesMax - Self.bytes(of: added) - Self.laterHeadersBytes

        var omitted: [String] = []
        func takes(_ bytes: Int, _ part: String) -> Bool {
            if bytes <= room {
                room -= bytes
                return true
            }
            omitted.append(part)
            return false
        }
        let keepsKey = takes(original.key?.count ?? 0, "key")
        let moved = original.headers.map(\.movedAside)
        let keepsHeaders = takes(Self.bytes(of: moved), "headers")
        let keepsValue = (original.value?.count ?? 0) <= room && value == .original

        added.append(
            KafkaHeader(name: DeadLetterHeader.value, text: (keepsValue ? DeadLetterValue.original : .omitted).rawValue)
        )
        if !omitted.isEmpty {
            let parts = omitted.joined(separator: ",")
            added.append(KafkaHeader(name: DeadLetterHeader.omitted, text: parts))
        }
        let digest = DeadLetterLink(added, after: previous).digest
        added.append(KafkaHeader(name: DeadLetterHeader.chainSHA256, text: digest.hex))
        return ChainedLetter(
            record: ProducerRecord(
                topic: context.topic, key: keepsKey ? original.key : nil, value: keepsValue ? original.value : nil,
                headers: (keepsHeaders ? moved : []) + added), digest: digest)
    }

    /// Maximum bytes of `dlq.value`, `dlq.omitted` and `dlq.chain.sha256`.
    private static let laterHeadersBytes = 256

    /// The encoded size of these headers, including the length fields of names and values.
    private static func bytes(of headers: [KafkaHeader]) -> Int {
        headers.reduce(0) { $0 + $1.nameBytes.count + ($1.value?.count ?? 0) + 10 }
    }

    private func headers(for original: ConsumerRecord, _ refusal: Refusal, after previous: SHA256Digest?)
        -> [KafkaHeader]
    {
        let source = RecordPosition(original)
        let observation = context.readsObservations ? try? Observation(original) : nil
        let sha256 = SHA256.digest(original.value ?? [])
        let id = DeadLetterID.make(
            cluster: context.cluster, source: source, timestamp: original.timestampMilliseconds, sha256: sha256)
        let headSHA256 = DeadLetterLink.headDigest(key: original.key, headers: original.headers).hex
        var pairs: [(name: String, text: String)] = [
            (DeadLetterHeader.id, id), (DeadLetterHeader.reason, refusal.reason.rawValue),
            (DeadLetterHeader.deadLetterClass, refusal.reason.deadLetterClass.rawValue),
            (DeadLetterHeader.detail, Self.bounded(refusal.detail, Self.detailBytesMax)),
            (DeadLetterHeader.stage, context.stage), (DeadLetterHeader.sourceTopic, source.topic),
            (DeadLetterHeader.sourcePartition, String(source.partition)),
            (DeadLetterHeader.sourceOffset, String(source.offset)), (DeadLetterHeader.sourceSHA256, sha256.hex),
            (DeadLetterHeader.sourceHeadSHA256, headSHA256),
            (DeadLetterHeader.verifierVersion, context.verifierVersion),
            (DeadLetterHeader.configurationSHA256, context.configuration.hex),
            (DeadLetterHeader.attempt, String(Self.attempt(original))), (DeadLetterHeader.worker, context.worker),
            (DeadLetterHeader.previous, DeadLetterLink.text(of: previous)),
        ]
        if let timestamp = original.timestampMilliseconds {
            pairs.append((DeadLetterHeader.sourceTimestamp, String(timestamp)))
        }
        if let raw = observation?.source?.position {
            pairs.append((DeadLetterHeader.rawTopic, raw.topic))
            pairs.append((DeadLetterHeader.rawPartition, String(raw.partition)))
            pairs.append((DeadLetterHeader.rawOffset, String(raw.offset)))
        }
        if !refusal.chain.isEmpty { pairs.append((DeadLetterHeader.chain, Self.chain(refusal.chain))) }
        let named = refusal.unverified.isEmpty ? observation.map { UnverifiedIdentifiers($0) } : refusal.unverified
        pairs += (named?.headers ?? []).map { (name: $0.name, text: Self.bounded($0.text, Self.identifierBytesMax)) }
        return pairs.map { KafkaHeader(name: $0.name, text: $0.text) }
    }

    /// The number of the attempt: for a replayed record, the number in its dead letter's header plus one.
    private static func attempt(_ original: ConsumerRecord) -> Int {
        let former = original.headers.last { $0.name == DeadLetterHeader.attempt }?.value
        let count = former.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        return min(max(count, 0), attemptMax - 1) + 1
    }

    private static let attemptMax = 1_000_000

    /// Maximum bytes of a header's text.
    static let detailBytesMax = 512
    static let identifierBytesMax = 255

    static func bounded(_ text: String, _ bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        let room = bytesMax - "…".utf8.count
        var kept = String.UnicodeScalarView()
        var bytes = 0
        for scalar in text.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= room else { break }
            kept.append(scalar)
        }
        return String(kept) + "…"
    }

    /// The chain as JSON: `{"leaf": {"sha256": …, "not_before": …, "not_after": …}, "intermediate": …, "root": …}`.
    private static func chain(_ certificates: [CertificateFacts]) -> String {
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            for (role, certificate) in zip(["leaf", "intermediate", "root"], certificates) {
                writer.key(role)
                writer.object { writer in
                    writer.key("sha256")
                    writer.string(certificate.fingerprint.hex)
                    writer.key("not_before")
                    writer.string(instant(certificate.validity.lowerBound))
                    writer.key("not_after")
                    writer.string(instant(certificate.validity.upperBound))
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func instant(_ seconds: Int64) -> String { Timestamp(milliseconds: seconds * 1000).description }
}
