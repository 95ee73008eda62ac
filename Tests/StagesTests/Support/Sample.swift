import AppStore
import Entitlements
import JSON
import Kafka
import OpenSSL
import Records
import Simulation
import TestSupport

/// An observation for the stages' tests, as the verifier writes it.
struct Sample {
    var environment = Environment.production
    var bundleID: Identifier? = "com.example.pro"
    var transaction: TransactionFields?
    var renewalInfo: RenewalFields?
    var appTransaction: AppTransactionFields?
    var notification: ObservedNotification?
    var trust = Trust.apple
    var method = VerificationFacts.Method.jws
    var claims = ObservationClaims()
    /// The user named by the ingestion service, and the raw record.
    var ingestUserID: Identifier?
    var rawTimestamp: Int64?
    var rawOffset: Int64 = 1
    var headers: [KafkaHeader] = []
    /// Whether `dedupe-worker` marked the sample, which it forwards for its correlation ID.
    var isDuplicate = false
    var partition: Int32 = 0

    static let certificate = SHA256.digest(Array("certificate".utf8))

    /// A transaction with a letter as content: the same letter is the same content.
    static func transaction(
        _ id: String, content: String = "A", signed: Int64 = 1, _ change: (inout TransactionFields) -> Void = { _ in }
    ) -> Sample {
        var fields = TransactionFields()
        fields.transactionID = id
        fields.originalTransactionID = id
        fields.storefront = content
        fields.signedDate = signed
        change(&fields)
        return Sample(transaction: fields)
    }

    /// A renewal info alone, which names no app.
    static func renewal(
        _ original: String, content: String = "A", signed: Int64 = 1, _ change: (inout RenewalFields) -> Void = { _ in }
    ) -> Sample {
        var fields = RenewalFields()
        fields.originalTransactionID = original
        fields.currency = content
        fields.signedDate = signed
        change(&fields)
        return Sample(bundleID: nil, renewalInfo: fields)
    }

    func with(_ change: (inout Sample) -> Void) -> Sample {
        var copy = self
        change(&copy)
        return copy
    }

    func observation() throws -> Observation {
        var observation = try Observation(
            SignedPayloads(
                transaction: parsed(transaction?.json), renewalInfo: parsed(renewalInfo?.json),
                appTransaction: parsed(appTransaction?.json)),
            source: ObservationSource(
                RecordPosition(topic: "storekit.raw", partition: 0, offset: rawOffset),
                timestamp: rawTimestamp.map(Timestamp.init(milliseconds:))), environment: environment,
            bundleID: bundleID,
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: 1), leaf: Self.certificate, root: Self.certificate, trust: trust,
                method: method, verifier: "test"), notification: notification, claims: claims,
            ingestUserID: ingestUserID)
        observation.isDuplicate = isDuplicate
        return observation
    }

    func record(at offset: Int64) throws -> ConsumerRecord {
        let written = try observation().record(for: "storekit.verified", headers: headers)
        return ConsumerRecord(written, partition: partition, at: offset)
    }

    private func parsed(_ bytes: [UInt8]?) throws -> JSONValue? { try bytes.map { try JSONDocument(parsing: $0).root } }
}

extension [Sample] {
    /// The samples as records at consecutive offsets.
    func records(from offset: Int64 = 0) throws -> [ConsumerRecord] {
        try enumerated().map { index, sample in try sample.record(at: offset + Int64(index)) }
    }
}
