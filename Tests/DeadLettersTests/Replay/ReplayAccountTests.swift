import AppStore
import Kafka
import Records
import Testing

@testable import DeadLetters
@testable import Store

/// New dead letters as outcomes of a replay's records.
struct ReplayAccountTests {
    private static func row(_ ordinal: Int64, _ letterID: String, transaction: String?, raw: String? = nil)
        -> ReplayRecordRow
    {
        ReplayRecordRow(
            ordinal: ordinal, letterID: letterID, transactionID: transaction, raw: raw, sentAt: nil, sent: nil,
            outcome: nil, outcomeReason: "", refusedAs: nil, outcomeAt: nil)
    }

    private static func place(_ text: String) throws -> RecordPosition { try #require(RecordPosition(text)) }

    /// An account in which each row was sent to its position.
    private static func account(_ sent: [(row: ReplayRecordRow, at: String)]) throws -> ReplayAccount {
        var account = ReplayAccount(sent.map(\.row), failingShareMax: 0.1)
        _ = account.next(sent.count)
        for (row, at) in sent { account.sent(try place(at), of: row) }
        return account
    }

    private static func letter(_ stage: String, _ source: String, transaction: String? = nil, raw: String? = nil) throws
        -> DeadLetter
    {
        var unverified = UnverifiedIdentifiers()
        unverified.transactionID = transaction
        let position = try place(source)
        var written = DeadLetterWriter(Sample.context(stage: stage)).letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: position.topic, partition: position.partition),
                offset: position.offset, timestampMilliseconds: 1_767_225_600_123, value: Array("a record".utf8)),
            Refusal(reason: .notStorable, detail: "refused", unverified: unverified), value: .original)
        if let raw = try raw.map({ try place($0) }) {
            written.headers += [
                KafkaHeader(name: DeadLetterHeader.rawTopic, text: raw.topic),
                KafkaHeader(name: DeadLetterHeader.rawPartition, text: "\(raw.partition)"),
                KafkaHeader(name: DeadLetterHeader.rawOffset, text: "\(raw.offset)"),
            ]
        }
        return try DeadLetter(decoding: Sample.original(written))
    }

    @Test func `a later stage refuses an accepted body that it names, once`() throws {
        var account = try Self.account([(Self.row(1, "one", transaction: "t1"), "raw/1/7")])
        let committed = [TopicPartition(topic: "raw", partition: 1): Int64(8)]
        #expect(account.accepted(committed: committed).map(\.outcome) == [.accepted])
        #expect(account.isSettled)
        let other = try Self.letter("link", "unique/0/3", transaction: "t1", raw: "raw/1/6")
        #expect(account.decisions(by: other, replayOf: nil).isEmpty)
        let refused = try Self.letter("link", "unique/0/4", transaction: "t1", raw: "raw/1/7")
        let decisions = account.decisions(by: refused, replayOf: nil)
        #expect(decisions.map(\.ordinal) == [1] && decisions.map(\.outcome) == [.refused])
        #expect(decisions.first?.reason == "not_storable in link: refused")
        #expect(decisions.first?.refusedAs == refused.id)
        #expect(account.decisions(by: refused, replayOf: nil).isEmpty)
    }

    @Test func `of a body sent for several observations each has its own outcome`() throws {
        var account = try Self.account([
            (Self.row(1, "one", transaction: "t1", raw: "raw/0/5"), "raw/0/9"),
            (Self.row(2, "two", transaction: "t2", raw: "raw/0/5"), "raw/0/9"),
        ])
        #expect(account.position(ofBody: try Self.place("raw/0/5")) == (try Self.place("raw/0/9")))
        #expect(account.position(ofBody: try Self.place("raw/0/9")) == nil)
        let committed = [TopicPartition(topic: "raw", partition: 0): Int64(10)]
        #expect(account.accepted(committed: committed).map(\.ordinal) == [1, 2])
        let foreign = try Self.letter("link", "unique/0/3", transaction: "t3", raw: "raw/0/9")
        #expect(account.decisions(by: foreign, replayOf: "one").isEmpty)
        // The body as it was sent the first time.
        let former = try Self.letter("dedupe", "verified/0/2", transaction: "t2", raw: "raw/0/5")
        #expect(account.decisions(by: former, replayOf: nil).isEmpty)
        let refused = try Self.letter("entitle", "linked/0/4", transaction: "t2", raw: "raw/0/9")
        #expect(account.decisions(by: refused, replayOf: "one").map(\.ordinal) == [2])
    }

    @Test func `a body that is refused itself is refused for all of its observations`() throws {
        var account = try Self.account([
            (Self.row(1, "one", transaction: "t1", raw: "raw/0/5"), "raw/0/9"),
            (Self.row(2, "two", transaction: "t2", raw: "raw/0/5"), "raw/0/9"),
        ])
        let refused = try Self.letter("verify", "raw/0/9")
        #expect(account.decisions(by: refused, replayOf: "another").isEmpty)
        #expect(account.decisions(by: refused, replayOf: "one").map(\.ordinal) == [1, 2])
    }
}
