package import AppStore

/// Whose a purchase was from a date on, until the next span begins.
package struct OwnershipSpan: Hashable, Sendable {
    package var userID: String
    /// Nil: from the beginning.
    package var from: Timestamp?

    package init(userID: String, from: Timestamp? = nil) {
        self.userID = userID
        self.from = from
    }
}
