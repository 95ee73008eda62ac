import DeadLetters
import JSON
import Kafka
import OpenSSL
import Worker

@testable import AppStore

extension Verdict {
    private static let payload = Result {
        try JSONDocument(
            parsing: Array(
                #"{"bundleId": "com.example.typo", "environment": "Production"}"#.utf8
            )
        )
    }

    /// The refusal of a record of an unknown app, whose value stands for what was signed.
    static func refusedBySettings(_ record: ConsumerRecord) -> Verdict {
        var unverified = UnverifiedIdentifiers()
        if let payload = try? payload.get() {
            unverified.add(payload.root)
        }
        return .deadLettered(
            DeadLetterFacts(
                reason: .bundleMismatch,
                detail: "test",
                unverified: unverified,
                signedPayload: SHA256.digest(record.value ?? [])
            )
        )
    }
}
