import Entitlements

/// Records that contradict what the tables hold of their transaction IDs, found when they were
/// written: the ID belongs to another purchase, or its transaction is sealed.
struct ContradictedFacts: Error {
    /// By the record's place in the batch.
    let records: [Int: ImmutableField]
}
