/// The schedule of a session's polls: records accumulate for a batch, and batches wait for room.
struct Pacing: Sendable {
    enum Step: Sendable, Equatable {
        case poll
        /// Resumes all partitions, then polls.
        case resume
        /// Pauses all partitions, so that the poll returns events but no records.
        case pause
        case wait(Duration)
    }

    /// Whether the partitions are paused because of a longer lack of room.
    private(set) var isPaused = false
    /// Instant at which enough records have accumulated for the next poll.
    var gatheredAt: ContinuousClock.Instant?
    /// The beginning of the present lack of room.
    private var fullSince: ContinuousClock.Instant?

    /// - Parameter pauseAfter: time without room before a pause, because a pause drops fetched records.
    mutating func next(at now: ContinuousClock.Instant, hasRoom: Bool, isStopped: Bool, pauseAfter: Duration) -> Step {
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

    /// Returns the remaining time for which records accumulate.
    ///
    /// `nil` if the time has passed.
    func gathering(_ now: ContinuousClock.Instant) -> Duration? {
        guard let gatheredAt, gatheredAt > now else { return nil }
        return gatheredAt - now
    }
}
