import Kafka
import Synchronization

extension ConsumerSession {
    /// Lets a batch pass, wholly or up to the records that are held; nil when nothing passes.
    func throughBreaker(_ processed: ProcessedBatch) -> ProcessedBatch? {
        guard let wasAccepted = loop.breaker?.withLock({ $0.hasAccepted }) else {
            return withoutHeld(processed)
        }
        let findings = wasAccepted ? Breaker.Findings() : findings(processed)
        let decision = loop.breaker?.withLock { $0.evaluate(findings, now: .now) } ?? .pass
        if findings.hasAccepted {
            keepAcceptance()
        }
        switch decision {
        case .pass: return withoutHeld(processed)
        case .disarm:
            let passed = withoutHeld(processed)
            disarmed("breaker disarmed, a record was accepted")
            return passed
        case .hold:
            pin(processed, \.isRefusedBySettings)
            return withoutHeld(processed)
        case .holdAll:
            pin(processed) { _ in true }
            reportTripped()
            return withoutHeld(processed)
        }
    }

    /// Lets the breaker's time pass.
    func tickBreaker() {
        guard loop.breaker?.withLock({ $0.tick(.now) }) == true else { return }
        disarmed("breaker disarmed, its time limit is reached")
    }

    /// Compares the settings with those that the owned partitions' commits name.
    ///
    /// Settings that have accepted a record, here or in another worker, start disarmed; that they
    /// have is then committed with every partition of this worker.
    func compareAcceptance() {
        guard let (settings, isKnown) = loop.breaker?.withLock({ ($0.settings, $0.hasAccepted) }),
            isKnown || assignment.withLock({ $0.hasAccepted(settings) })
        else { return }
        keepAcceptance()
        guard loop.breaker?.withLock({ $0.accepted() }) == true else { return }
        disarmed("breaker disarmed, these settings accepted a record before")
    }

    private func keepAcceptance() {
        guard let settings = loop.breaker?.withLock({ $0.settings }) else { return }
        assignment.withLock { $0.accept(settings) }
        commitSignal.send()
    }

    private func findings(_ processed: ProcessedBatch) -> Breaker.Findings {
        var findings = Breaker.Findings()
        for index in processed.records.indices {
            switch processed.records[index].verdict.evidence {
            case .accepted: findings.hasAccepted = true
            case .refused(let record): findings.refused.append(record)
            case nil: break
            }
        }
        return findings
    }

    /// Pins each partition at its first record of a kind, offsets without one before it included.
    private func pin(_ processed: ProcessedBatch, _ isHeld: (Verdict) -> Bool) {
        assignment.withLock { assignment in
            for index in processed.records.indices where isHeld(processed.records[index].verdict) {
                let claim = processed.claim(ofRecordAt: index)
                assignment.pin(claim, at: processed.start(ofRecordAt: index))
            }
        }
    }

    /// The batch up to where its partitions are pinned; nil when nothing is left.
    private func withoutHeld(_ processed: ProcessedBatch) -> ProcessedBatch? {
        var passed = processed
        assignment.withLock { assignment in passed.keepUnpinned { assignment.pinnedAt($0) } }
        return passed.records.isEmpty ? nil : passed
    }

    private func disarmed(_ message: StaticString) {
        loop.metrics.breaker.set(0)
        loop.health.ready(.breaker)
        log.notice(message)
        readHeldAgain()
    }

    /// Reads again what was held; the records are then processed like any other.
    func readHeldAgain() {
        let positions = assignment.withLock { $0.rewind() }
        guard !positions.isEmpty else { return }
        polling.withLock { $0.rewinds.merge(positions) { $1 } }
        log.info(
            "seeking to the committed offsets, held records are read again",
            ["partitions": .int(positions.count)]
        )
        wakePolling()
    }

    /// In the polling task; tried again at the next turn when it fails.
    func rewind(_ positions: [TopicPartition: Int64]) async throws(KafkaError) {
        let wanted = assignment.withLock { assignment in
            positions.filter { assignment.partitions[$0.key]?.phase == .rewinding }
        }
        do {
            if !wanted.isEmpty {
                try await consumer.seek(wanted, deadline: .seconds(2))
                if !polling.withLock({ $0.isPaused }) {
                    try await consumer.resume(Array(wanted.keys))
                }
            }
        } catch {
            guard !error.isFatal else { throw error }
            log.warning("seek failed, retrying", ["error": "\(error)"])
            return
        }
        assignment.withLock { $0.rewound(wanted.keys) }
        polling.withLock { polling in
            for partition in positions.keys {
                polling.rewinds[partition] = nil
            }
        }
    }

    private func reportTripped() {
        guard let (limit, refused) = loop.breaker?.withLock({ ($0.bounds.distinctMax, $0.report) })
        else {
            return
        }
        loop.metrics.breaker.set(1)
        let isNew = loop.health.notReady(
            .breaker,
            "breaker tripped: the settings refuse "
                + refused.prefix(3).joined(separator: ", ")
        )
        guard isNew else { return }
        log.critical(
            "breaker tripped, reading without committing",
            [
                "breaker.limit": .int(limit),
                "breaker.refused": .array(refused.map { .string($0) }),
            ]
        )
    }
}

extension Verdict {
    /// Only the settings refuse the record.
    fileprivate var isRefusedBySettings: Bool {
        guard case .refused = evidence else { return false }
        return true
    }
}
