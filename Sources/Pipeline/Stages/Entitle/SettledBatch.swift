import Entitlements

/// The effect of a transaction, for answers and metrics.
struct SettledBatch {
    /// The outcomes of the records, in order.
    var outcomes: [EntitleOutcome]
    /// The answers for the requests that wait, by the records' indexes.
    var answers: [Int: UserAnswer] = [:]
    var notifications: [NotificationMeaning] = []
    var unknownProducts = 0
    var unknownTypes = 0
    /// Seats' transactions that carry the account token of a purchaser.
    var purchasersTokens = 0
    /// Rows of `changes`.
    var changes = 0
}
