import Entitlements

/// What a transaction did, for those who answer and count.
struct SettledBatch {
    /// One for each record, in order.
    var outcomes: [EntitleOutcome]
    var notifications: [NotificationMeaning] = []
    var unknownProducts = 0
    var unknownTypes = 0
    /// Rows of `changes`.
    var changes = 0
}
