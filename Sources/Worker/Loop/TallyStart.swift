/// How a partition's tally begins after an assignment.
enum TallyStart: Equatable, Sendable {
    /// Nobody has committed yet: it begins with offset 0.
    case first
    /// It goes on where the last owner committed.
    case resumed(StageTally)
    /// What was committed carries none, so a new one begins there: conservation before that offset
    /// can no longer be shown.
    case begunAnew(at: Int64, metadata: String)
    /// It goes on, but its counts and the committed offset do not match.
    case inconsistent(StageTally, offset: Int64)
}
