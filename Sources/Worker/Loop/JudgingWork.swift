/// What the judging task waits for.
enum JudgingWork: Sendable {
    case batch(Batch)
    /// The settings were reloaded; there may be no batch for a long time.
    case reload
}
