import Records
import Testing

@testable import Kafka
@testable import Worker

extension Assignment {
    fileprivate mutating func add(_ records: [ConsumerRecord]) -> (batch: Batch, rewound: [TopicPartition]) {
        add(records, at: .now)
    }
}

@Suite struct AssignmentTests {
    static let first = TopicPartition(topic: "raw", partition: 0)
    static let second = TopicPartition(topic: "raw", partition: 1)

    /// An assignment with both partitions assigned and begun.
    private func assignment(committed: CommittedOffset = CommittedOffset(offset: nil, metadata: "")) -> Assignment {
        var assignment = Assignment(counting: StageDescription.fake.dispositions)
        for claim in assignment.assign([Self.first, Self.second]) { _ = assignment.begin(claim, committed) }
        return assignment
    }

    private func records(_ offsets: some Sequence<Int64>, of partition: TopicPartition = first) -> [ConsumerRecord] {
        offsets.map { ConsumerRecord(topicPartition: partition, offset: $0) }
    }

    /// Settles all that is left of a batch as forwarded.
    private func settle(_ batch: Batch, in assignment: inout Assignment) {
        let verdicts = batch.records.map { _ in Verdict(.forwarded) }
        let processed = ProcessedBatch(batch, verdicts, deadLetters: PlainLetters(topic: "letters"))
        for (part, increment) in zip(batch.parts, processed.increments()) {
            assignment.settle(batch.id, part.claim, adding: increment)
        }
    }

    private func offsets(_ assignment: Assignment) -> [TopicPartition: Int64] {
        assignment.commits().mapValues(\.1.offset)
    }

    @Test func `overlapping batches commit in order, whichever ends first`() {
        var assignment = assignment()
        let one = assignment.add(records(0..<3)).batch
        let two = assignment.add(records(3..<5) + records(7..<9, of: Self.second)).batch
        settle(two, in: &assignment)
        #expect(offsets(assignment) == [Self.second: 9])
        settle(one, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 5, Self.second: 9])
    }

    @Test func `a batch is settled in parts, its gaps with the records after them`() throws {
        var assignment = assignment()
        let batch = assignment.add(records([0, 1, 4, 5]) + records([0, 3], of: Self.second)).batch
        let (one, rest) = assignment.split(batch, at: 2)
        let (two, last) = assignment.split(rest, at: 1)
        settle(last, in: &assignment)
        #expect(offsets(assignment) == [Self.second: 4])
        settle(one, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 2, Self.second: 4])
        settle(two, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 6, Self.second: 4])
        let tallies = try assignment.commits().mapValues { claim, commit in
            try #require(CommitMetadata(commit.metadata, counting: StageDescription.fake.dispositions)).tally
        }
        #expect(tallies[Self.first]?.counts == [.forwarded: 4, .skipped: 2])
        #expect(tallies[Self.second]?.counts == [.forwarded: 2, .skipped: 2])
    }

    @Test func `a pin before the rest of a batch settles nothing of it`() throws {
        var assignment = assignment()
        let batch = assignment.add(records(0..<6)).batch
        let claim = try #require(batch.parts.first?.claim)
        let (first, rest) = assignment.split(batch, at: 4)
        assignment.pin(claim, at: 2)
        settle(rest, in: &assignment)
        #expect(offsets(assignment).isEmpty)
        var passed = first
        passed.keep { _ in 2 }
        settle(passed, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 2])
    }

    @Test func `of two pins the earlier one counts`() {
        var assignment = assignment()
        var batch = assignment.add(records(0..<6)).batch
        let claim = batch.parts[0].claim
        for offset in [4, 2, 3] as [Int64] { assignment.pin(claim, at: offset) }
        #expect(assignment.pinnedAt(claim) == 2)
        batch.keep { _ in 2 }
        settle(batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 2])
    }

    @Test func `an unresolved batch pins its partition and no other`() {
        var assignment = assignment()
        _ = assignment.add(records(0..<3))
        for batch in [assignment.add(records(3..<5)).batch, assignment.add(records(0..<2, of: Self.second)).batch] {
            settle(batch, in: &assignment)
        }
        #expect(offsets(assignment) == [Self.second: 2])
    }

    @Test func `what was in hand of a lost partition is never committed`() {
        var assignment = assignment()
        let batch = assignment.add(records(0..<3)).batch
        assignment.release([Self.first])
        let abandoned = assignment.removeAbandoned()
        #expect(abandoned == [Self.first])
        settle(batch, in: &assignment)
        #expect(offsets(assignment).isEmpty)

        // Also when the partition has been assigned again since, at a later offset.
        let claim = assignment.assign([Self.first])[0]
        _ = assignment.begin(claim, CommittedOffset(offset: 2, metadata: "v1 began=0 forwarded=2"))
        settle(batch, in: &assignment)
        #expect(offsets(assignment).isEmpty)
        let again = assignment.add(records(2..<3)).batch
        settle(again, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 3])
        #expect(assignment.partitions[Self.first]?.tally?.counts == [.forwarded: 3])
    }

    @Test func `a confirmation for a former claim is not believed`() {
        var assignment = assignment()
        let batch = assignment.add(records(0..<1)).batch
        settle(batch, in: &assignment)
        let (old, commit) = assignment.commits()[Self.first] ?? (batch.parts[0].claim, .init(offset: 0, metadata: ""))
        assignment.release([Self.first])
        let claim = assignment.assign([Self.first])[0]
        _ = assignment.begin(claim, CommittedOffset(offset: nil, metadata: ""))
        assignment.confirm(old, commit)
        #expect(assignment.partitions[Self.first]?.committed == nil)
    }

    @Test func `a revoked partition takes nothing, and finishes what is in hand`() {
        var assignment = assignment()
        let batch = assignment.add(records(0..<2)).batch
        assignment.revoke([Self.first])
        let late = assignment.add(records(2..<4)).batch
        #expect(late.isEmpty)
        #expect(!assignment.isQuiet([Self.first]))
        settle(batch, in: &assignment)
        #expect(!assignment.isQuiet([Self.first]))
        for (claim, commit) in assignment.commits().values { assignment.confirm(claim, commit) }
        #expect(assignment.isQuiet([Self.first]))
    }

    @Test func `offsets that hold no record are counted as skipped`() {
        var assignment = assignment(committed: CommittedOffset(offset: 10, metadata: "v1 began=0 ignored=10"))
        let taken = assignment.add(records([12, 13, 20]))
        #expect(taken.batch.gaps.map(\.count) == [2, 6])
        settle(taken.batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 21])
        let tally = assignment.partitions[Self.first]?.tally
        #expect(tally?.counts == [.ignored: 10, .skipped: 8, .forwarded: 3])
        #expect(tally?.total == 21)
    }

    @Test(arguments: [(nil, 8), (0, 0), (10, 0), (12, 2), (15, 3), (19, 7), (30, 8)])
    func `what lies before the log's first offset was removed, and the rest is of transactions`(
        low: Int64?, removed: Int64
    ) {
        var assignment = assignment(committed: CommittedOffset(offset: 10, metadata: "v1 began=0 ignored=10"))
        var result = PollResult()
        result.records = records([12, 13, 20])
        #expect(assignment.gapped(result) == [Self.first])
        let lows = low.map { [Self.first: $0] } ?? [:]
        settle(assignment.add(result.records, lows: lows, at: .now).batch, in: &assignment)
        let counts = assignment.partitions[Self.first]?.tally?.counts
        #expect(counts?[.skipped] ?? 0 == removed)
        #expect(counts?[.control] ?? 0 == 8 - removed)
        let gaps = assignment.skip(to: [PartitionEnd(partition: Self.first, offset: 23)], lows: [Self.first: 22])
        #expect(gaps.map(\.removed) == [1])
        #expect(assignment.partitions[Self.first]?.tally?.total == 23)
    }

    @Test func `a poll without a gap asks for nothing, in whatever order its partitions come`() {
        let assignment = assignment()
        var result = PollResult()
        let other = records(0..<2, of: Self.second)
        result.records = records(0..<2) + other.prefix(1) + records(2..<4) + other.suffix(1)
        result.ends = [PartitionEnd(partition: Self.first, offset: 4)]
        #expect(assignment.gapped(result).isEmpty)
        result.ends = [PartitionEnd(partition: Self.first, offset: 5)]
        #expect(assignment.gapped(result) == [Self.first])
        result = PollResult()
        result.records = other.suffix(1)
        #expect(assignment.gapped(result) == [Self.second])
    }

    @Test func `a partition without a commit begins at the start of its log`() {
        var assignment = assignment()
        let taken = assignment.add(records([5, 6]))
        #expect(taken.batch.gaps == [OffsetGap(Self.first, 0..<5, low: nil)])
        settle(taken.batch, in: &assignment)
        let counts: [Disposition: Int64] = [.skipped: 5, .forwarded: 2]
        #expect(assignment.partitions[Self.first]?.tally == StageTally(began: 0, counts: counts))
    }

    @Test func `the end of a log settles what holds no record, after what is in hand`() {
        var assignment = assignment()
        let batch = assignment.add(records(0..<2)).batch
        let ends = [PartitionEnd(partition: Self.first, offset: 3), PartitionEnd(partition: Self.second, offset: 0)]
        let gaps = assignment.skip(to: ends)
        #expect(gaps == [OffsetGap(Self.first, 2..<3, low: nil)])
        #expect(offsets(assignment).isEmpty)
        settle(batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 3])
        let again = assignment.skip(to: ends)
        #expect(again.isEmpty)
        settle(assignment.add(records(3..<4)).batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 4])
        let counts: [Disposition: Int64] = [.forwarded: 3, .skipped: 1]
        #expect(assignment.partitions[Self.first]?.tally?.counts == counts)
    }

    @Test func `the end of a log settles nothing of a pinned or revoked partition`() {
        var assignment = assignment()
        let batch = assignment.add(records(0..<2)).batch
        assignment.pin(batch.parts[0].claim, at: 0)
        assignment.revoke([Self.second])
        let gaps = assignment.skip(to: [Self.first, Self.second].map { PartitionEnd(partition: $0, offset: 9) })
        #expect(gaps.isEmpty)
        #expect(offsets(assignment).isEmpty)
        let positions = assignment.rewind()
        #expect(positions == [Self.first: 0])
    }

    @Test(
        arguments: [
            (nil, "", TallyStart.first), (7, "", .begunAnew(at: 7, metadata: "")),
            (7, "somebody else's text", .begunAnew(at: 7, metadata: "somebody else's text")),
            (7, "v2 began=0", .begunAnew(at: 7, metadata: "v2 began=0")),
            (7, "v1 began=5 ignored=2", .resumed(StageTally(began: 5, counts: [.ignored: 2]))),
            (7, "v1 began=5 ignored=1", .inconsistent(StageTally(began: 5, counts: [.ignored: 1]), offset: 7)),
        ] as [(Int64?, String, TallyStart)]) func `a tally begins with what was committed`(
            offset: Int64?, metadata: String, start: TallyStart
        )
    {
        var assignment = Assignment(counting: StageDescription.fake.dispositions)
        let claim = assignment.assign([Self.first])[0]
        let begun = assignment.begin(claim, CommittedOffset(offset: offset, metadata: metadata))
        #expect(begun == start)
    }

    @Test func `words that others wrote into the metadata stay in it`() {
        var assignment = assignment(committed: CommittedOffset(offset: 1, metadata: "v1 began=0 ignored=1 head=abc"))
        settle(assignment.add(records([1])).batch, in: &assignment)
        let text = assignment.commits()[Self.first]?.1.metadata
        #expect(text == "v1 began=0 out=0 forwarded=1 ignored=1 head=abc")
    }

    @Test func `a log that has gone back begins a new tally and forgets what was in hand`() {
        var assignment = assignment()
        let old = assignment.add(records(100..<103)).batch
        let taken = assignment.add(records(0..<2))
        #expect(taken.rewound == [Self.first])
        settle(old, in: &assignment)
        #expect(offsets(assignment).isEmpty)
        settle(taken.batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 2])
        #expect(assignment.partitions[Self.first]?.tally == StageTally(began: 0, counts: [.forwarded: 2]))
    }

    @Test func `what is pinned is read again from the settled offset`() {
        var assignment = assignment()
        var one = assignment.add(records(0..<4)).batch
        var two = assignment.add(records(4..<6)).batch
        assignment.pin(one.parts[0].claim, at: 2)
        one.keep { _ in 2 }
        settle(one, in: &assignment)
        two.keep { _ in .min }
        settle(two, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 2])
        let watched = assignment.add(records(6..<8)).batch
        #expect(watched.parts.map(\.isWatched) == [true])

        let positions = assignment.rewind()
        #expect(positions == [Self.first: 2])
        let early = assignment.add(records(8..<9)).batch
        #expect(early.isEmpty)
        assignment.rewound([Self.first])
        let again = assignment.add(records(2..<9))
        #expect(again.batch.gaps.isEmpty)
        settle(again.batch, in: &assignment)
        #expect(offsets(assignment) == [Self.first: 9])
        #expect(assignment.partitions[Self.first]?.tally?.counts == [.forwarded: 9])
    }
}
