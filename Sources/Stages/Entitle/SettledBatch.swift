import Entitlements

/// What a transaction did, for those who answer and count.
struct SettledBatch {
    /// One for each record, in order.
    var outcomes: [EntitleOutcome]
    /// The answers for the requests that wait for records, by the records' indexes.
    var answers: [Int: Answer] = [:]
    var notifications: [NotificationMeaning] = []
    var unknownProducts = 0
    var unknownTypes = 0
    /// Rows of `changes`.
    var changes = 0
}
