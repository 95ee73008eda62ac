import AppStore
import Entitlements
import Kafka
import Postgres

/// A purchase that has another owner while no record of it passes by, to be told to the next stage.
struct Relink {
    let key: PurchaseKey
    let owner: ObservedOwner
    /// What marks the change in `owners` until it is told.
    let mark: Int64

    /// The columns of `OwnerWriting.untold`.
    init(_ row: PostgresRow) {
        key = PurchaseKey(
            environment: Environment(rawValue: row.text(0)),
            bundleID: row.text(1),
            originalTransactionID: row.text(2)
        )
        owner = ObservedOwner(userID: row.optionalText(3), rule: row.text(4))
        mark = row.int8(5)
    }

    /// The link observation: it names the purchase, and nobody waits for an answer to it.
    func record(for topic: String) -> ProducerRecord {
        let observation = Observation(
            source: nil,
            environment: key.environment,
            bundleID: key.bundleID,
            verification: nil,
            owner: owner,
            relinkedPurchase: key.originalTransactionID
        )
        return ProducerRecord(
            topic: topic,
            key: observation.partitionKey,
            value: observation.encode()
        )
    }
}
