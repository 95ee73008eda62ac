/// The schedule of a session's polls: records gather for a batch, and batches wait for room.
struct Pacing: Sendable {
    enum Step: Sendable, Equatable {
        case poll
        /// Resumes all partitions, then polls.
        case resume
        /// Pauses all partitions, so that the poll brings events and no records.
        case pause
        case wait(Duration)
    }

    /// Whether the partitions are paused, because there has been no room for a while.
    private(set) var isPaused = false
    /// Instant at which records have gathered for the next poll.
    var gatheredAt: ContinuousClock.Instant?
    /// Instant since which there has been no room.
    private var fullSince: ContinuousClock.Instant?

    /// - Parameter pauseAfter: a pause drops what was fetched, so room is waited for this long.
    mutating func next(_ now: ContinuousClock.Instant, hasRoom: Bool, _ isStopped: Bool, _ pauseAfter: Duration) -> Step
    {
        if hasRoom {
            fullSince = nil
            guard isPaused else { return .poll }
            isPaused = false
            return .resume
        }
        guard !isPaused else { return .poll }
        let since = fullSince ?? now
        if !isStopped {
            fullSince = since
            if now - since < pauseAfter { return .wait(.milliseconds(50)) }
        }
        isPaused = true
        return .pause
    }

    /// Returns the time for which records have yet to gather.
    ///
    /// `nil` if they have gathered.
    func gathering(_ now: ContinuousClock.Instant) -> Duration? {
        guard let gatheredAt, gatheredAt > now else { return nil }
        return gatheredAt - now
    }
}
