/// How a record ends in a stage; each ends in exactly one.
package enum Disposition: String, Sendable, CaseIterable {
    /// In verify with the number of its observations; in dedupe because it says something new.
    case forwarded
    /// A response without items.
    case ignored
    case refreshed
    case superseded
    case duplicate
    case resolved
    case unresolved
    case applied
    case unchanged
    case recorded
    case deadLettered = "dead_lettered"
    /// An offset that held no record: retention overtook the consumer, or a control record.
    case skipped
}
