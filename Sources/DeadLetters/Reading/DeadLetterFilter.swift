package import AppStore
package import Records

/// Which dead letters somebody wants to see; what is empty or nil lets all through.
package struct DeadLetterFilter: Sendable {
    package var reasons: Set<String> = []
    package var classes: Set<String> = []
    /// Failed at or after it.
    package var since: Timestamp?
    /// Failed before it.
    package var until: Timestamp?
    /// The transaction ID or original transaction ID that the original names.
    package var transactionID: String?
    package var bundleID: String?

    package init() {}

    package func matches(_ letter: DeadLetter) -> Bool {
        let identifiers = letter.identifiers
        return (reasons.isEmpty || reasons.contains(letter.reason))
            && (classes.isEmpty || classes.contains(letter.deadLetterClass))
            && since.map { $0 <= letter.failedAt } ?? true
            && until.map { letter.failedAt < $0 } ?? true
            && transactionID.map {
                $0 == identifiers.transactionID || $0 == identifiers.originalTransactionID
            } ?? true
            && bundleID.map { $0 == identifiers.bundleID } ?? true
    }
}
