import AppStore
import Kafka
import Records
import Simulation

@testable import Worker

/// The stage and the producer of a world.
extension SessionWorld {
    /// Performs a call of the stage.
    mutating func process() throws {
        guard core.hasOutputRoom, var batch = work.first else { return }
        guard let attempt = core.attempt(&batch) else {
            work.removeFirst()
            core.leave()
            return
        }
        work[0] = batch
        guard !happens(15) else { return }
        var count = attempt.records.count
        if happens(30) { count = 1 + Int(random.next() % UInt64(count)) }
        let verdicts = attempt.records.prefix(count).map { record in
            happens(3) ? .held(by: CancellationError()) : log(of: record).verdict(on: record)
        }
        let (processed, rest) = core.processed(batch, verdicts, deadLetters: WorldLetters(), at: now, jitter: 0.75)
        work.removeFirst()
        if let rest { work.insert(rest, at: 0) }
        guard let processed else { return }
        for index in processed.records.indices where core.breaker?.state != .disarmed {
            if case .refused = processed.records[index].verdict.evidence, core.breaker != nil {
                throw Violation("an armed breaker let a record pass")
            }
        }
        delivered.append(processed)
    }

    private func log(of record: ConsumerRecord) -> WorldLog { logs[Int(record.topicPartition.partition)] }

    /// Performs a step of the settling task.
    mutating func deliver() throws {
        guard !happens(15) else { return }
        guard var batch = settling else {
            if !delivered.isEmpty { settling = Settling(processed: delivered.removeFirst()) }
            return
        }
        guard let letters = batch.letters else {
            let isValid = core.chainHeads(of: &batch.processed)
            batch.letters = batch.processed.letters(of: isValid) { _ in nil }
            settling = batch
            return
        }
        guard letters.isEmpty else {
            try write(letters, of: &batch)
            settling = batch
            return
        }
        if core.acknowledge(&batch.processed) {
            for record in batch.processed.records { try acknowledge(record) }
            core.settle(batch.processed)
        }
        settling = nil
        core.leave()
    }

    /// Writes some of the letters, of which some are refused for their size.
    private mutating func write(_ letters: [Letter], of batch: inout Settling) throws {
        var rest = letters[...]
        let count = happens(30) ? Int(random.next() % 4) : letters.count
        for _ in 0..<min(count, letters.count) {
            guard let letter = rest.first else { break }
            let record = batch.processed.records[letter.owner].record
            if letter.value == .original, log(of: record).isLetterTooLarge(record.offset) {
                batch.processed.omitValue(&rest) { _ in nil }
            }
            try rest.first.map { try logs[Int(record.topicPartition.partition)].write($0, record.offset) }
            rest = rest.dropFirst()
        }
        batch.letters = rest.filter { core.assignment.isCurrent(batch.processed.claim(ofRecordAt: $0.owner)) }
    }

    /// Takes a record whose outputs are safe.
    private mutating func acknowledge(_ processed: ProcessedRecord) throws {
        let partition = processed.record.topicPartition
        let index = Int(partition.partition)
        let isCurrent = processed.record.value == [UInt8(truncatingIfNeeded: assignments[index])]
        // The worker may not have heard of its loss yet.
        guard owned.contains(partition) && isCurrent || !events.isEmpty else {
            throw Violation("\(partition) settles after it was given up")
        }
        try logs[index].acknowledge(processed)
    }
}
