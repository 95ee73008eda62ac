import AppStore
import DeadLetters
import Entitlements
import JSON
import Kafka
import OpenSSL
import Records
import TestSupport

enum Sample {
    static func context(
        stage: String = "verify", worker: String? = nil, recordBytesMax: Int = DeadLetterContext.recordBytesMaxDefault
    ) -> DeadLetterContext {
        DeadLetterContext(
            cluster: "cluster-1", topic: "storekit.dead-letter", stage: stage, readsObservations: stage != "verify",
            worker: worker ?? "\(stage)-7d9f", verifierVersion: "1.0.0",
            configuration: SHA256.digest(Array("settings".utf8)), recordBytesMax: recordBytesMax)
    }

    static func original(
        offset: Int64 = 1042, timestamp: Int64? = 1_767_225_600_123, key: [UInt8]? = [0, 255],
        value: [UInt8]? = Array("not a body".utf8), headers: [KafkaHeader] = []
    ) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: TopicPartition(topic: "storekit.raw", partition: 3), offset: offset,
            timestampMilliseconds: timestamp, key: key, value: value, headers: headers)
    }

    static func original(_ written: ProducerRecord) -> ConsumerRecord {
        original(value: written.value, headers: written.headers)
    }

    static let refusal = Refusal(
        reason: .signatureInvalid, detail: "the ES256 signature does not match header and payload",
        chain: [
            CertificateFacts(fingerprint: SHA256.digest([1]), validity: 1_600_000_000...1_700_000_000),
            CertificateFacts(fingerprint: SHA256.digest([2]), validity: 1_500_000_000...1_800_000_000),
        ])

    /// An observation of a transaction, as `dedupe-worker` reads it.
    static func observation() throws -> ProducerRecord {
        try observation("7", source: ObservationSource(RecordPosition(topic: "storekit.raw", partition: 6, offset: 99)))
            .record(for: "storekit.verified")
    }

    static func observation(_ transactionID: String, source: ObservationSource) throws -> Observation {
        let payload = """
            {"transactionId": "\(transactionID)", "originalTransactionId": "5",
            "productId": "gold", "purchaseDate": 1767225600000, "signedDate": 1767225600000}
            """
        let json = try JSONDocument(parsing: Array(payload.utf8)).root
        return try Observation(
            SignedPayloads(transaction: json), source: source, environment: .sandbox, bundleID: "com.example",
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: 1_767_225_600_000), leaf: SHA256.digest([1]),
                root: SHA256.digest([2]), trust: .apple, method: .jws, verifier: "1.0.0"))
    }

    /// A dead letter as a reader gets it.
    static func consumed(
        _ letter: ProducerRecord, partition: Int32 = 0, offset: Int64 = 0, failedAt: Int64 = 1_767_225_660_000
    ) -> ConsumerRecord { ConsumerRecord(letter, partition: partition, at: offset, timestampMilliseconds: failedAt) }
}

extension ProducerRecord {
    /// The text of a header.
    ///
    /// `nil` if it is missing.
    func text(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension DeadLetterWriter {
    /// The first letter of a chain.
    func letter(for original: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue) -> ProducerRecord {
        letter(for: original, refusal, value: value, after: nil).record
    }
}
