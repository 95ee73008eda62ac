/// The user whom `link-worker` found behind a purchase when the observation passed by.
///
/// A message for readers of the topic; the truth is the `owners` table.
package struct ObservedOwner: Hashable, Sendable {
    /// Nil: nobody yet.
    package var userID: String?
    /// The raw value of an `OwnershipRule`: the one that decided, or why none did.
    package var rule: String

    package init(userID: String?, rule: String) {
        self.userID = userID
        self.rule = rule
    }
}
