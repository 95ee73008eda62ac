import AppStore
import Kafka
import OpenSSL
import Records
import Worker

extension Verdict {
    /// The refusal of a record of an unknown app, whose value stands for what was signed.
    static func refusedBySettings(_ record: ConsumerRecord) -> Verdict {
        .deadLettered(
            Refusal(reason: .bundleMismatch, detail: "test"),
            evidence: .refused(
                Breaker.Refused(content: SHA256.digest(record.value ?? []), subject: "com.example.typo in Production")))
    }
}
