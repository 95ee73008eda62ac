import Entitlements

/// What became of one record.
enum EntitleOutcome: Hashable {
    /// It changed a fact or a row.
    case applied
    /// All of it was known already.
    case unchanged
    /// What it says is older than what is known; it stands in the history.
    case superseded
    /// It carries no fact and stands in the history.
    case recorded
    case conflict(ImmutableField)
}
