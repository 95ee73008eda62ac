import Kafka
import Testing

@testable import Worker

@Suite struct PartitionBookTests {
    static let first = TopicPartition(topic: "raw", partition: 0)
    static let second = TopicPartition(topic: "raw", partition: 1)

    /// A book with both partitions assigned and begun.
    private func book(
        committed: CommittedOffset = CommittedOffset(offset: nil, metadata: "")
    ) -> PartitionBook {
        var book = PartitionBook(counting: StageDescription.fake.dispositions)
        for claim in book.assign([Self.first, Self.second]) {
            _ = book.begin(claim, committed)
        }
        return book
    }

    private func records(
        _ offsets: some Sequence<Int64>,
        of partition: TopicPartition = first
    ) -> [ConsumerRecord] {
        offsets.map { ConsumerRecord(topicPartition: partition, offset: $0) }
    }

    /// Settles all that is left of a batch as forwarded.
    private func settle(_ batch: Batch, in book: inout PartitionBook) {
        let verdicts = batch.records.map { _ in Verdict(.forwarded) }
        for (part, increment) in zip(batch.parts, batch.increments(verdicts)) {
            book.settle(batch.id, part.claim, increment)
        }
    }

    private func offsets(_ book: PartitionBook) -> [TopicPartition: Int64] {
        book.commits().mapValues(\.1.offset)
    }

    @Test func `overlapping batches commit in order, whichever ends first`() {
        var book = book()
        let one = book.take(records(0..<3)).batch
        let two = book.take(records(3..<5) + records(7..<9, of: Self.second)).batch
        settle(two, in: &book)
        #expect(offsets(book) == [Self.second: 9])
        settle(one, in: &book)
        #expect(offsets(book) == [Self.first: 5, Self.second: 9])
    }

    @Test func `a batch is settled in parts, its gaps with the records after them`() throws {
        var book = book()
        let batch = book.take(
            records([0, 1, 4, 5]) + records([0, 3], of: Self.second)
        ).batch
        let (one, rest) = book.split(batch, at: 2)
        let (two, last) = book.split(rest, at: 1)
        settle(last, in: &book)
        #expect(offsets(book) == [Self.second: 4])
        settle(one, in: &book)
        #expect(offsets(book) == [Self.first: 2, Self.second: 4])
        settle(two, in: &book)
        #expect(offsets(book) == [Self.first: 6, Self.second: 4])
        let tallies = try book.commits().mapValues { claim, commit in
            try #require(
                CommitMetadata(commit.metadata, counting: StageDescription.fake.dispositions)
            ).tally
        }
        #expect(tallies[Self.first]?.counts == [.forwarded: 4, .skipped: 2])
        #expect(tallies[Self.second]?.counts == [.forwarded: 2, .skipped: 2])
    }

    @Test func `a pin before the rest of a batch settles nothing of it`() throws {
        var book = book()
        let batch = book.take(records(0..<6)).batch
        let claim = try #require(batch.parts.first?.claim)
        let (first, rest) = book.split(batch, at: 4)
        book.pin(claim, at: 2)
        settle(rest, in: &book)
        #expect(offsets(book).isEmpty)
        settle(first.filtered { record, _ in record.offset < 2 }, in: &book)
        #expect(offsets(book) == [Self.first: 2])
    }

    @Test func `an unresolved batch pins its partition and no other`() {
        var book = book()
        _ = book.take(records(0..<3))
        for batch in [
            book.take(records(3..<5)).batch, book.take(records(0..<2, of: Self.second)).batch,
        ] {
            settle(batch, in: &book)
        }
        #expect(offsets(book) == [Self.second: 2])
    }

    @Test func `what was in hand of a lost partition is never committed`() {
        var book = book()
        let batch = book.take(records(0..<3)).batch
        book.release([Self.first])
        let abandoned = book.takeAbandoned()
        #expect(abandoned == [Self.first])
        settle(batch, in: &book)
        #expect(offsets(book).isEmpty)

        // Also when the partition has come back meanwhile, and stands further.
        let claim = book.assign([Self.first])[0]
        _ = book.begin(claim, CommittedOffset(offset: 2, metadata: "v1 began=0 forwarded=2"))
        settle(batch, in: &book)
        #expect(offsets(book).isEmpty)
        let again = book.take(records(2..<3)).batch
        settle(again, in: &book)
        #expect(offsets(book) == [Self.first: 3])
        #expect(book.partitions[Self.first]?.tally?.counts == [.forwarded: 3])
    }

    @Test func `a confirmation for a former claim is not believed`() {
        var book = book()
        let batch = book.take(records(0..<1)).batch
        settle(batch, in: &book)
        let (old, commit) =
            book.commits()[Self.first] ?? (batch.parts[0].claim, .init(offset: 0, metadata: ""))
        book.release([Self.first])
        let claim = book.assign([Self.first])[0]
        _ = book.begin(claim, CommittedOffset(offset: nil, metadata: ""))
        book.confirm(old, commit)
        #expect(book.partitions[Self.first]?.committed == nil)
    }

    @Test func `a revoked partition takes nothing, and finishes what is in hand`() {
        var book = book()
        let batch = book.take(records(0..<2)).batch
        book.revoke([Self.first])
        let late = book.take(records(2..<4)).batch
        #expect(late.isEmpty)
        #expect(!book.isQuiet([Self.first]))
        settle(batch, in: &book)
        #expect(!book.isQuiet([Self.first]))
        for (claim, commit) in book.commits().values { book.confirm(claim, commit) }
        #expect(book.isQuiet([Self.first]))
    }

    @Test func `offsets that hold no record are counted as skipped`() {
        var book = book(committed: CommittedOffset(offset: 10, metadata: "v1 began=0 ignored=10"))
        let taken = book.take(records([12, 13, 20]))
        #expect(taken.gaps.map(\.count) == [2, 6])
        settle(taken.batch, in: &book)
        #expect(offsets(book) == [Self.first: 21])
        let tally = book.partitions[Self.first]?.tally
        #expect(tally?.counts == [.ignored: 10, .skipped: 8, .forwarded: 3])
        #expect(tally?.total == 21)
    }

    @Test func `a partition without a commit begins at the start of its log`() {
        var book = book()
        let taken = book.take(records([5, 6]))
        #expect(taken.gaps == [OffsetGap(partition: Self.first, before: 5, count: 5)])
        settle(taken.batch, in: &book)
        let counts: [Disposition: Int64] = [.skipped: 5, .forwarded: 2]
        #expect(book.partitions[Self.first]?.tally == StageTally(began: 0, counts: counts))
    }

    @Test func `the end of a log settles what holds no record, after what is in hand`() {
        var book = book()
        let batch = book.take(records(0..<2)).batch
        let ends = [
            PartitionEnd(partition: Self.first, offset: 3),
            PartitionEnd(partition: Self.second, offset: 0),
        ]
        let gaps = book.skip(to: ends)
        #expect(gaps == [OffsetGap(partition: Self.first, before: 3, count: 1)])
        #expect(offsets(book).isEmpty)
        settle(batch, in: &book)
        #expect(offsets(book) == [Self.first: 3])
        let again = book.skip(to: ends)
        #expect(again.isEmpty)
        settle(book.take(records(3..<4)).batch, in: &book)
        #expect(offsets(book) == [Self.first: 4])
        let counts: [Disposition: Int64] = [.forwarded: 3, .skipped: 1]
        #expect(book.partitions[Self.first]?.tally?.counts == counts)
    }

    @Test func `the end of a log settles nothing of a pinned or revoked partition`() {
        var book = book()
        let batch = book.take(records(0..<2)).batch
        book.pin(batch.parts[0].claim, at: 0)
        book.revoke([Self.second])
        let gaps = book.skip(
            to: [Self.first, Self.second].map { PartitionEnd(partition: $0, offset: 9) }
        )
        #expect(gaps.isEmpty)
        #expect(offsets(book).isEmpty)
        let positions = book.rewind()
        #expect(positions == [Self.first: 0])
    }

    @Test(
        arguments: [
            (nil, "", TallyStart.first),
            (7, "", .begunAnew(at: 7, metadata: "")),
            (7, "somebody else's text", .begunAnew(at: 7, metadata: "somebody else's text")),
            (7, "v2 began=0", .begunAnew(at: 7, metadata: "v2 began=0")),
            (7, "v1 began=5 ignored=2", .resumed(StageTally(began: 5, counts: [.ignored: 2]))),
            (
                7, "v1 began=5 ignored=1",
                .inconsistent(StageTally(began: 5, counts: [.ignored: 1]), offset: 7)
            ),
        ] as [(Int64?, String, TallyStart)]
    )
    func `a tally begins with what was committed`(
        offset: Int64?,
        metadata: String,
        start: TallyStart
    ) {
        var book = PartitionBook(counting: StageDescription.fake.dispositions)
        let claim = book.assign([Self.first])[0]
        let begun = book.begin(claim, CommittedOffset(offset: offset, metadata: metadata))
        #expect(begun == start)
    }

    @Test func `words that others wrote into the metadata stay in it`() {
        var book = book(
            committed: CommittedOffset(offset: 1, metadata: "v1 began=0 ignored=1 head=abc")
        )
        settle(book.take(records([1])).batch, in: &book)
        let text = book.commits()[Self.first]?.1.metadata
        #expect(text == "v1 began=0 out=0 forwarded=1 ignored=1 head=abc")
    }

    @Test func `a log that has gone back begins a new tally and forgets what was in hand`() {
        var book = book()
        let old = book.take(records(100..<103)).batch
        let taken = book.take(records(0..<2))
        #expect(taken.rewound == [Self.first])
        settle(old, in: &book)
        #expect(offsets(book).isEmpty)
        settle(taken.batch, in: &book)
        #expect(offsets(book) == [Self.first: 2])
        #expect(book.partitions[Self.first]?.tally == StageTally(began: 0, counts: [.forwarded: 2]))
    }

    @Test func `what is pinned is read again from the settled offset`() {
        var book = book()
        let one = book.take(records(0..<4)).batch
        let two = book.take(records(4..<6)).batch
        book.pin(one.parts[0].claim, at: 2)
        let passed = one.filtered { record, _ in record.offset < 2 }
        settle(passed, in: &book)
        settle(two.filtered { _, _ in false }, in: &book)
        #expect(offsets(book) == [Self.first: 2])
        let watched = book.take(records(6..<8)).batch
        #expect(watched.parts.map(\.isWatched) == [true])

        let positions = book.rewind()
        #expect(positions == [Self.first: 2])
        let early = book.take(records(8..<9)).batch
        #expect(early.isEmpty)
        book.rewound([Self.first])
        let again = book.take(records(2..<9))
        #expect(again.gaps.isEmpty)
        settle(again.batch, in: &book)
        #expect(offsets(book) == [Self.first: 9])
        #expect(book.partitions[Self.first]?.tally?.counts == [.forwarded: 9])
    }
}
