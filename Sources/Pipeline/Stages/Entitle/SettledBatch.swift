import Derivation
import Entitlements

/// The results of a transaction, for answers and metrics.
struct SettledBatch {
    /// The outcomes of the records, in order.
    var outcomes: [EntitleOutcome]
    /// The answers for waiting requests, by the records' indexes.
    var answers: [Int: UserAnswer] = [:]
    var notifications: [NotificationMeaning] = []
    var unknownProducts = 0
    var unknownTypes = 0
    /// Number of seats' transactions with the account token of a purchaser.
    var purchasersTokens = 0
    /// Number of rows written to the table `changes`.
    var changes = 0
}
