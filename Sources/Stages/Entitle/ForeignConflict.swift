import Entitlements

/// Records whose transaction ID belongs to another purchase already, found when it was written.
struct ForeignConflict: Error {
    /// By the record's place in the batch.
    let records: [Int: ImmutableField]
}
