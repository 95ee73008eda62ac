import Kafka
import Settings
import Telemetry

extension SessionCore {
    /// Applies the breaker to a batch, which passes as a whole or up to the held records.
    mutating func passBreaker(_ processed: inout ProcessedBatch, _ now: Instant) {
        let decision = decide(processed, now)
        switch decision {
        case .pass, .disarm: break
        case .hold:
            pin(processed) { verdict in
                guard case .refused = verdict.evidence else { return false }
                return true
            }
        case .holdAll:
            pin(processed) { _ in true }
            if let breaker { perform(.breakerTripped(limit: breaker.bounds.refusedMax, refused: breaker.report)) }
        }
        processed.keepUnpinned { assignment.pinnedAt($0) }
        if decision == .disarm { disarmed("breaker disarmed, a record was accepted") }
    }

    private mutating func decide(_ processed: ProcessedBatch, _ now: Instant) -> Breaker.Decision {
        guard let wasAccepted = breaker?.hasAccepted else { return .pass }
        let evidence = wasAccepted ? [] : processed.records.compactMap { $0.verdict.evidence }
        let decision = breaker?.evaluate(evidence, now: now)
        if breaker?.hasAccepted != wasAccepted { keepAcceptance() }
        return decision ?? .pass
    }

    /// Disarms the breaker when its time has passed.
    mutating func tickBreaker(_ now: Instant) {
        guard breaker?.tick(now) == true else { return }
        disarmed("breaker disarmed, its time limit is reached")
    }

    /// Applies a reload with other settings: the records that the breaker held are read again.
    ///
    /// - Parameter next: the breaker of the new settings; `nil` if they need none.
    mutating func reloaded(_ next: Breaker?) {
        if breaker != nil, let next {
            breaker = next
            perform(.breakerPasses)
        }
        readHeldAgain()
        compareAcceptance()
        perform(.turn)
    }

    /// Compares the settings with the accepted settings in the commits of the owned partitions.
    ///
    /// If the settings have accepted a record, here or in another worker, the breaker starts disarmed; every commit of
    /// this worker then contains them.
    mutating func compareAcceptance() {
        guard let breaker, breaker.hasAccepted || assignment.hasAccepted(breaker.settings) else { return }
        keepAcceptance()
        guard self.breaker?.accepted() == true else { return }
        disarmed("breaker disarmed, these settings accepted a record before")
    }

    private mutating func keepAcceptance() {
        guard let breaker else { return }
        assignment.accept(breaker.settings)
        perform(.commit)
    }

    /// Pins each partition at its first record with such a verdict, or at the gap before that record.
    private mutating func pin(_ processed: ProcessedBatch, _ isHeld: (Verdict) -> Bool) {
        for index in processed.records.indices where isHeld(processed.records[index].verdict) {
            assignment.pin(processed.claim(ofRecordAt: index), at: processed.start(ofRecordAt: index))
        }
    }

    private mutating func disarmed(_ message: StaticString) {
        perform(.breakerPasses)
        log(.notice, message, [:])
        readHeldAgain()
    }

    /// Reads the held records again; they are then processed like any other record.
    private mutating func readHeldAgain() {
        let positions = assignment.rewind()
        guard !positions.isEmpty else { return }
        rewinds.merge(positions) { $1 }
        log(
            .info, "seeking to the committed offsets, held records are read again",
            ["partitions": .int(positions.count)])
        perform(.turn)
    }
}
