import AppStore
import Entitlements
import OpenSSL

extension Observation {
    /// What `link-worker` says of a purchase whose owner changed because of another purchase.
    static func relinking(_ key: PurchaseKey) -> Observation {
        let digest = SHA256.digest([UInt8]())
        return Observation(
            source: ObservationSource(
                topic: "storekit.raw",
                partition: 0,
                offset: 0,
                timestamp: nil,
                index: 0,
                count: 1
            ),
            environment: key.environment,
            bundleID: key.bundleID,
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: 0),
                leaf: digest,
                root: digest,
                trust: .apple,
                method: .jws,
                verifier: "test"
            ),
            relinkedPurchase: key.originalTransactionID
        )
    }
}
