/// The topics of one pipeline, by their names without the configured prefix.
///
/// What the stages read, in the order of the flow, then what they write besides.
package enum Topic {
    /// Bodies as Apple or the app produced them.
    package static let raw = "raw"
    /// Observations: what `verify-worker` found in a body.
    package static let verified = "verified"
    /// Observations that say something new.
    package static let unique = "unique"
    /// Observations with the user behind the purchase.
    package static let linked = "linked"
    /// What was refused, and why.
    package static let deadLetter = "dead-letter"
    /// What became of records that carry a correlation ID.
    package static let outcomes = "outcomes"
    /// Every change of what users may use.
    package static let changed = "entitlements.changed"
    /// The newest state of each user.
    package static let current = "entitlements.current"
}
