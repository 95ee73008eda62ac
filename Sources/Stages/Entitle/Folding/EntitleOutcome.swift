import Entitlements

/// What became of one record.
enum EntitleOutcome: Hashable {
    /// It changed a fact or a row.
    case applied
    /// All of it was known already, or is older than what is known.
    case unchanged
    /// It carries no fact and stands in the history.
    case recorded
    case conflict(ImmutableField)
}
