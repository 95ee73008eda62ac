package import AppStore

/// What one part of an observation says something about.
package enum PartKey: Hashable, Sendable {
    case transaction(TransactionKey)
    case renewal(RenewalKey)
    /// By `appTransactionId`, or where there is none by the content's own hash.
    case appTransaction(Environment, bundleID: String, id: String)
    case notification(Environment, uuid: String)
}
