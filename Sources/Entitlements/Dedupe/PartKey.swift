package import AppStore

/// What one part of an observation says something about.
package enum PartKey: Hashable, Sendable {
    case transaction(TransactionKey)
    case renewal(RenewalKey)
    /// By `appTransactionId`, or where there is none by the content's own hash.
    case appTransaction(Environment, bundleID: String, id: String)
    /// The user whom the ingestion service names beside a transaction: a statement of its own,
    /// which the same transaction without it must not hide.
    case claim(TransactionKey, userID: String)
    case notification(Environment, uuid: String)
}
