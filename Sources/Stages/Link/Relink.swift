import AppStore
import Entitlements
import Kafka
import Postgres
import Records

/// A purchase that has another owner and is to be projected, whether a record of it comes or not.
struct Relink {
    let key: PurchaseKey
    let owner: ObservedOwner
    /// Which change of its owner this is.
    let change: Int64
    /// How many link observations have been sent of it.
    let sends: Int

    /// The columns of `OwnerChanges.due`.
    init(_ row: PostgresRow) {
        key = PurchaseKey(
            environment: Environment(rawValue: row.text(0)),
            bundleID: row.text(1),
            originalTransactionID: row.text(2)
        )
        owner = ObservedOwner(userID: row.optionalText(3), rule: row.text(4))
        change = row.int8(5)
        sends = Int(row.int8(6))
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
