import AppStore
import DeadLetters
import Kafka
import OpenSSL
import Synchronization

extension ConsumerSession {
    /// Puts batches through the stage, one after the other.
    func process(
        _ works: AsyncStream<JudgingWork>,
        into delivered: AsyncStream<DeliveredBatch>.Continuation
    ) async {
        for await work in works {
            takeUpReload()
            guard case .batch(let batch) = work else { continue }
            guard let judged = await judge(batch) else {
                leave(batch)
                continue
            }
            var released = judged
            if loop.breaker != nil {
                guard let passed = await throughBreaker(judged) else {
                    leave(batch)
                    continue
                }
                released = passed
            }
            delivered.yield(await send(released))
        }
        delivered.finish()
    }

    /// Has the stage judge what is left of a batch, again and again until it can; nil when nothing
    /// is left or all is given up.
    private func judge(_ batch: Batch) async -> JudgedBatch? {
        var backoff = configuration.backoff
        var rest = batch
        while !mustAbort {
            takeUpReload()
            rest = current(rest)
            guard !rest.isEmpty else { return nil }
            let abandoned = book.withLock { $0.takeAbandoned() }
            if !abandoned.isEmpty {
                await loop.stage.abandoned(abandoned)
            }
            do {
                let start = ContinuousClock.now
                let verdicts = try await loop.stage.process(rest.records)
                precondition(
                    verdicts.count == rest.records.count,
                    "a stage has to give one verdict for each record"
                )
                loop.metrics.stepSeconds["process"].observe(.now - start)
                loop.faults.succeeded(.process)
                loop.lastAnswer.withLock { $0 = .now }
                return JudgedBatch(
                    batch: rest,
                    verdicts: verdicts,
                    deadLetters: loop.deadLetters(of: cluster)
                )
            } catch {
                loop.faults.failed(.process, error)
                await wait(&backoff)
            }
        }
        return nil
    }

    /// Judges from here on by what a reload has brought, and reads again what the breaker held.
    private func takeUpReload() {
        guard loop.takeUpReload() else { return }
        readHeldAgain()
        ringTurn()
    }

    /// The batch without what went elsewhere, and without what a pin came before.
    private func current(_ batch: Batch) -> Batch {
        let isCurrent = book.withLock { book in batch.parts.map { book.isCurrent($0.claim) } }
        guard isCurrent.contains(false) else { return batch }
        let kept = Set(zip(batch.parts, isCurrent).filter(\.1).map(\.0.claim))
        return batch.filtered { _, part in kept.contains(part.claim) }
    }

    /// Waits before a repetition; short while stopping, so that the end is noticed.
    func wait(_ backoff: inout Backoff) async {
        let end = ContinuousClock.now + backoff.nextDelay()
        while ContinuousClock.now < end, !mustAbort {
            try? await Task.sleep(for: min(end - .now, .milliseconds(100)))
        }
    }
}

extension ConsumerSession {
    var isTripped: Bool {
        loop.breaker?.withLock { $0.state == .tripped } ?? false
    }

    /// Lets a batch pass, wholly or up to the records that are held; nil when nothing passes.
    private func throughBreaker(_ judged: JudgedBatch) async -> JudgedBatch? {
        let decision = loop.breaker?.withLock { breaker in
            breaker.isArmed ? breaker.judge(findings(judged)) : breaker.judge(.nothing)
        }
        switch decision {
        case .none, .pass: return withoutHeld(judged)
        case .disarm:
            log.info("the breaker is disarmed: a record was accepted")
            let passed = withoutHeld(judged)
            readHeldAgain()
            return passed
        case .hold:
            pin(judged)
            return withoutHeld(judged)
        case .trip:
            pin(judged)
            sayTripped()
            return withoutHeld(judged)
        }
    }

    private func findings(_ judged: JudgedBatch) -> Breaker.Findings {
        var findings = Breaker.Findings.nothing
        for (record, verdict) in zip(judged.batch.records, judged.verdicts) {
            if verdict.disposition == .forwarded {
                findings.hasAccepted = true
            } else if verdict.isRefusedBySettings {
                findings.refused.append(SHA256.digest(record.value ?? []))
            }
        }
        return findings
    }

    /// Pins each partition at its first record that only the settings refuse.
    private func pin(_ judged: JudgedBatch) {
        let batch = judged.batch
        book.withLock { book in
            for (index, verdict) in judged.verdicts.enumerated() where verdict.isRefusedBySettings {
                let claim = batch.parts[batch.partOfRecord[index]].claim
                book.pin(claim, at: batch.records[index].offset)
            }
        }
    }

    /// The batch up to where its partitions are pinned; nil when nothing is left.
    private func withoutHeld(_ judged: JudgedBatch) -> JudgedBatch? {
        let batch = judged.batch
        let pins = book.withLock { book in
            batch.parts.reduce(into: [TopicPartition: Int64]()) { pins, part in
                pins[part.claim.partition] =
                    part.isWatched ? .min : book.pinnedAt(part.claim)
            }
        }
        guard !pins.isEmpty else { return judged }
        var verdicts: [Verdict] = []
        for (record, verdict) in zip(batch.records, judged.verdicts)
        where record.offset < pins[record.topicPartition] ?? .max {
            verdicts.append(verdict)
        }
        guard !verdicts.isEmpty else { return nil }
        let passed = batch.filtered { record, _ in
            record.offset < pins[record.topicPartition] ?? .max
        }
        return JudgedBatch(
            batch: passed,
            verdicts: verdicts,
            pins: pins,
            deadLetters: judged.deadLetters
        )
    }

    /// Reads again what was held; the records are then judged like any other.
    func readHeldAgain() {
        let positions = book.withLock { $0.rewind() }
        guard !positions.isEmpty else { return }
        polling.withLock { $0.rewinds.merge(positions) { $1 } }
        log.info("reading again what the breaker held", ["partitions": .int(positions.count)])
        ringTurn()
    }

    /// In the polling task; tried again at the next turn when it fails.
    func rewind(_ positions: [TopicPartition: Int64]) async throws(KafkaError) {
        let wanted = book.withLock { book in
            positions.filter { book.partitions[$0.key]?.phase == .rewinding }
        }
        do {
            if !wanted.isEmpty { try await consumer.seek(wanted, deadline: .seconds(2)) }
        } catch {
            guard !error.isFatal else { throw error }
            log.warning("reading again has to be tried again", ["error": "\(error)"])
            return
        }
        book.withLock { $0.rewound(wanted.keys) }
        polling.withLock { polling in
            for partition in positions.keys {
                polling.rewinds[partition] = nil
            }
        }
    }

    private func sayTripped() {
        loop.metrics.breaker.set(1)
        let isNew = loop.health.notReady(
            .breaker,
            "the settings seem to be wrong: genuine records of unknown apps only"
        )
        guard isNew else { return }
        log.critical(
            "the breaker has tripped: nothing is read until the settings are right",
            ["breaker.limit": .int(loop.breaker?.withLock { $0.distinctMax } ?? 0)]
        )
        ringTurn()
    }
}

extension Breaker.Findings {
    static let nothing = Breaker.Findings(hasAccepted: false, refused: [])
}
