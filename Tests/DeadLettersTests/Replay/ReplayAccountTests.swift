import AppStore
import Kafka
import Records
import Testing

@testable import DeadLetters
@testable import Store

/// New dead letters in the index as outcomes of a replay's records.
@Suite(.timeLimit(.minutes(10))) struct ReplayAccountTests {
    private static func place(_ text: String) throws -> RecordPosition { try #require(RecordPosition(text)) }

    /// A recorded replay with letters that were sent to these positions.
    private struct Replay {
        let rig: ReplayRig
        let number: Int64

        init(_ records: [(id: String, transaction: String?, raw: String?, at: String)]) async throws {
            rig = try await ReplayRig()
            number = try await rig.client.run(
                ReplayTable.add,
                (who: "kim", why: "a test", filter: "all", count: records.count, rate: 1, failingShareMax: 0.1))[0]
            let new = records.enumerated().map { ordinal, record -> ReplayRecordTable.New in
                (ordinal: Int64(ordinal), letterID: record.id, transactionID: record.transaction, raw: record.raw)
            }
            _ = try await rig.client.run(ReplayRecordTable.hold, (number, new))
            let sent = try records.enumerated().map { ordinal, record -> ReplayRecordTable.Sent in
                (Int64(ordinal), try place(record.at))
            }
            _ = try await rig.client.run(ReplayRecordTable.sent, (number, sent))
        }

        /// The account of a run that continues the replay.
        func account() async throws -> ReplayAccount {
            ReplayAccount(try await rig.outcomes(number), failingShareMax: 0.1)
        }

        /// Indexes a letter of a stage, and returns its ID.
        func index(
            _ stage: String, _ source: String, transaction: String? = nil, raw: String? = nil, replayOf: String? = nil
        ) async throws -> String {
            var unverified = UnverifiedIdentifiers()
            unverified.transactionID = transaction
            let position = try place(source)
            let written = DeadLetterWriter(Sample.context(stage: stage)).letter(
                for: ConsumerRecord(
                    topicPartition: TopicPartition(topic: position.topic, partition: position.partition),
                    offset: position.offset, timestampMilliseconds: 1_767_225_600_123, value: Array("a record".utf8)),
                Refusal(reason: .notStorable, detail: "refused", unverified: unverified), value: .original)
            var row = try #require(DeadLetterRow(Sample.original(written)))
            row.raw = try raw.map { try place($0) }
            row.replayOf = replayOf
            _ = try await DeadLetterIndexTable.add(
                [(partition: 0, offset: 0, row: row)], of: "letters \(row.id)", nextOffsets: [0: 1], on: rig.client)
            return row.id
        }

        /// The decisions that an account takes from the index.
        func decisions(of account: inout ReplayAccount) async throws -> [ReplayRecordTable.Decided] {
            account.refuse(Array(try await rig.client.run(ReplayRecordTable.refused, (number, account.refusable))))
        }
    }

    @Test func `a later stage refuses an accepted body that it names, once`() async throws {
        let replay = try await Replay([("one", "t1", nil, "raw/1/7")])
        var account = try await replay.account()
        let committed = [TopicPartition(topic: "raw", partition: 1): Int64(8)]
        #expect(account.accepted(committed: committed).map(\.outcome) == [.accepted])
        #expect(account.isSettled)
        _ = try await replay.index("link", "unique/0/3", transaction: "t1", raw: "raw/1/6")
        #expect(try await replay.decisions(of: &account).isEmpty)
        let refused = try await replay.index("link", "unique/0/4", transaction: "t1", raw: "raw/1/7")
        let decisions = try await replay.decisions(of: &account)
        #expect(decisions.map(\.ordinal) == [0] && decisions.map(\.outcome) == [.refused])
        #expect(decisions.first?.reason == "not_storable in link: refused")
        #expect(decisions.first?.refusedAs == refused)
        #expect(try await replay.decisions(of: &account).isEmpty)
        await replay.rig.close()
    }

    @Test func `of a body sent for several observations each has its own outcome`() async throws {
        let replay = try await Replay([("one", "t1", "raw/0/5", "raw/0/9"), ("two", "t2", "raw/0/5", "raw/0/9")])
        var account = try await replay.account()
        #expect(account.position(ofBody: try Self.place("raw/0/5")) == (try Self.place("raw/0/9")))
        #expect(account.position(ofBody: try Self.place("raw/0/9")) == nil)
        let committed = [TopicPartition(topic: "raw", partition: 0): Int64(10)]
        #expect(account.accepted(committed: committed).map(\.ordinal) == [0, 1])
        _ = try await replay.index("link", "unique/0/3", transaction: "t3", raw: "raw/0/9", replayOf: "one")
        // The body as it was sent the first time.
        _ = try await replay.index("dedupe", "verified/0/2", transaction: "t2", raw: "raw/0/5")
        #expect(try await replay.decisions(of: &account).isEmpty)
        _ = try await replay.index("entitle", "linked/0/4", transaction: "t2", raw: "raw/0/9", replayOf: "one")
        #expect(try await replay.decisions(of: &account).map(\.ordinal) == [1])
        await replay.rig.close()
    }

    @Test func `a body that is refused itself is refused for all of its observations`() async throws {
        for (origin, ordinals) in [("another", []), ("one", [0, 1])] as [(String, [Int64])] {
            let replay = try await Replay([("one", "t1", "raw/0/5", "raw/0/9"), ("two", "t2", "raw/0/5", "raw/0/9")])
            var account = try await replay.account()
            _ = try await replay.index("verify", "raw/0/9", replayOf: origin)
            #expect(try await replay.decisions(of: &account).map(\.ordinal) == ordinals)
            await replay.rig.close()
        }
    }
}
