import AppStore
import Kafka
import OpenSSL
import Simulation

@testable import Records
@testable import Worker

/// The log of one partition, the verdict on each of its records, and what the group has committed.
struct WorldLog {
    typealias Violation = SessionWorld.Violation

    private enum Fate: CaseIterable {
        /// The offset holds no record.
        case missing
        case forwarded, accepted, ignored, deadLettered, refusedBySettings
        /// Its letter has to go without the value.
        case largeLetter
    }

    let partition: TopicPartition
    private let fates: [Fate]
    /// The tally and the head of the chain with everything below an offset, by the offset.
    private var tallies = [StageTally(began: 0)]
    private var heads: [SHA256Digest?] = [nil]
    private var isAcknowledged: [Bool]
    private var isWritten: [Bool]
    private(set) var committed = CommittedOffset(offset: nil, metadata: "")

    init(_ partition: TopicPartition, seed: UInt64) {
        self.partition = partition
        var random = SeededGenerator(seed: seed ^ UInt64(partition.partition + 1) << 32)
        var fates = (0..<(4 + random.next() % 12)).map { _ in
            Fate.allCases[Int(random.next() % UInt64(Fate.allCases.count))]
        }
        // Whatever the breaker holds, this record disarms it.
        fates.append(.accepted)
        if random.next() % 2 == 0 { fates.append(.missing) }
        self.fates = fates
        isAcknowledged = fates.map { _ in false }
        isWritten = isAcknowledged
        for offset in fates.indices {
            let (tally, head) = (tallies[offset], heads[offset])
            var counts = tally.counts
            counts[disposition(offset), default: 0] += 1
            let isForwarded = disposition(offset) == .forwarded
            tallies.append(StageTally(began: 0, counts: counts, forwarded: tally.forwarded + (isForwarded ? 1 : 0)))
            guard disposition(offset) == .deadLettered else {
                heads.append(head)
                continue
            }
            let value: DeadLetterValue = isLetterTooLarge(Int64(offset)) ? .omitted : .original
            heads.append(WorldLetters.digest(Int64(offset), value, after: head))
        }
    }

    var start: Int64 { Int64(fates.firstIndex { $0 != .missing } ?? 0) }
    var end: Int64 { Int64(fates.count) }
    var isFinished: Bool { committed.offset == end }

    func isLetterTooLarge(_ offset: Int64) -> Bool { fates[Int(offset)] == .largeLetter }

    /// - Parameter assignment: the value of each record.
    func records(from position: Int64, assignment: Int) -> [ConsumerRecord] {
        (position..<max(position, end)).compactMap { offset in
            guard fates[Int(offset)] != .missing else { return nil }
            return ConsumerRecord(
                topicPartition: partition, offset: offset, value: [UInt8(truncatingIfNeeded: assignment)])
        }
    }

    private func disposition(_ offset: Int) -> Disposition {
        switch fates[offset] {
        case .missing: .skipped
        case .forwarded, .accepted: .forwarded
        case .ignored: .ignored
        case .deadLettered, .largeLetter, .refusedBySettings: .deadLettered
        }
    }

    func verdict(on record: ConsumerRecord) -> Verdict {
        let outputs = [ProducerRecord(topic: "output")]
        let refusal = Refusal(reason: .signatureInvalid, detail: "test")
        switch fates[Int(record.offset)] {
        case .missing: return .deadLettered(refusal)
        case .forwarded: return Verdict(.forwarded, outputs: outputs)
        case .accepted: return Verdict(.forwarded, outputs: outputs, evidence: .accepted)
        case .ignored: return Verdict(.ignored)
        case .deadLettered, .largeLetter: return .deadLettered(refusal)
        case .refusedBySettings:
            let content = WorldLetters.digest(record.offset, .original, after: nil)
            return .deadLettered(refusal, evidence: .refused(Breaker.Refused(content: content, subject: "app")))
        }
    }

    /// The dead-letter topic has a letter of this log.
    mutating func write(_ letter: Letter, _ offset: Int64) throws {
        guard letter.previous == heads[Int(offset)] else {
            throw Violation("the letter of \(partition) \(offset) does not name the one before it")
        }
        isWritten[Int(offset)] = true
    }

    /// Acknowledges a record whose outputs are all safe.
    mutating func acknowledge(_ record: ProcessedRecord) throws {
        let offset = Int(record.record.offset)
        guard record.verdict.disposition == disposition(offset), record.verdict.heldBy == nil,
            isWritten[offset] || !record.verdict.isRefused
        else { throw Violation("\(partition) \(offset) is settled without its outputs") }
        isAcknowledged[offset] = true
    }

    mutating func commit(_ commit: OffsetCommit) throws {
        let former = Int(committed.offset ?? 0)
        let new = Int(commit.offset)
        guard former <= new, new < tallies.count else {
            throw Violation("\(partition) is committed at \(new) after \(former)")
        }
        for offset in former..<new where !isAcknowledged[offset] && fates[offset] != .missing {
            throw Violation("\(partition) is committed at \(new) before \(offset) is acknowledged")
        }
        let metadata = CommitMetadata(commit.metadata, counting: StageDescription.fake.dispositions)
        guard metadata?.tally == tallies[new] else {
            throw Violation("the tally of \(partition) at \(new) is \(commit.metadata)")
        }
        guard metadata?.chainHead == heads[new] else {
            throw Violation("\(partition) at \(new) names another letter than its last")
        }
        committed = CommittedOffset(offset: commit.offset, metadata: commit.metadata)
    }

    /// Commits for another worker, which has read a part of the log.
    mutating func otherWorkerCommits(_ random: UInt64) {
        let former = committed.offset ?? 0
        let offset = Int(former) + Int(random % UInt64(end - former + 1))
        let metadata = CommitMetadata(tally: tallies[offset], chainHead: heads[offset])
        committed = CommittedOffset(offset: Int64(offset), metadata: metadata.text)
    }
}

/// Letters that name their source's offset, and whether they hold its value.
struct WorldLetters: DeadLetterWriting {
    func letter(for record: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue, after previous: SHA256Digest?)
        -> ChainedLetter
    {
        ChainedLetter(
            record: ProducerRecord(topic: "letters"), digest: Self.digest(record.offset, value, after: previous))
    }

    static func digest(_ offset: Int64, _ value: DeadLetterValue, after previous: SHA256Digest?) -> SHA256Digest {
        SHA256.digest(Array("\(offset) \(value) \(previous?.hex ?? "")".utf8))
    }
}
