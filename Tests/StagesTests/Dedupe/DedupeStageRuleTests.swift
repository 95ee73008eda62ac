import AppStore
import Entitlements
import Kafka
import Postgres
import Records
import TestSupport
import Testing
import Simulation
import Topology
import Worker

@testable import DedupeStage

/// News by the parts of an observation.
@Suite(.timeLimit(.minutes(10))) struct DedupeStageRuleTests {
    typealias Reader = DedupeStageTests.Reader

    @Test func `a changed immutable field is a conflict that leaves no trace`() async throws {
        let reader = try await Reader()
        let conflicting = Sample.transaction("1", content: "B", signed: 9) { $0.productID = "com.example.other" }
        #expect(try await reader.settle([.transaction("1"), conflicting]) == [.forwarded, .deadLettered])
        let (_, verdicts) = try await reader.process([conflicting])
        #expect(verdicts[0].refusal?.reason == .transactionConflict)
        #expect(verdicts[0].refusal?.detail.contains("productID") == true)
        #expect(verdicts[0].outputs.isEmpty)
        #expect(try await reader.settle([.transaction("1", content: "B", signed: 2)]) == [.forwarded])
    }

    @Test func `an observation with any new part is forwarded`() async throws {
        let reader = try await Reader()
        let both = Sample.transaction("1").with { $0.renewalInfo = Sample.renewal("1").renewalInfo }
        let renewed = both.with { $0.renewalInfo = Sample.renewal("1", content: "B", signed: 2).renewalInfo }
        #expect(
            try await reader.settle([both, both, renewed, renewed]) == [.forwarded, .duplicate, .forwarded, .duplicate])
        #expect(try await reader.settle([both]) == [.superseded])
    }

    @Test func `a renewal info of another trust is another one`() async throws {
        let reader = try await Reader()
        let mine = Sample.renewal("1")
        let others = mine.with { $0.trust = .configured(Sample.certificate) }
        #expect(try await reader.settle([mine, others]) == [.forwarded, .forwarded])
        #expect(try await reader.settle([mine, others]) == [.duplicate, .duplicate])
    }

    @Test func `another environment or app is another transaction`() async throws {
        let reader = try await Reader()
        let samples = [
            Sample.transaction("1"), Sample.transaction("1").with { $0.environment = .sandbox },
            Sample.transaction("1").with { $0.bundleID = "com.example.other" },
        ]
        #expect(try await reader.settle(samples) == [.forwarded, .forwarded, .forwarded])
        #expect(try await reader.settle(samples) == [.duplicate, .duplicate, .duplicate])
    }

    @Test func `a notification is recognized by its UUID, without case`() async throws {
        let reader = try await Reader()
        func notified(_ uuid: String?) -> Sample {
            Sample.transaction("1").with {
                $0.notification = ObservedNotification(
                    type: "DID_RENEW", subtype: nil, uuid: uuid, signedDate: Timestamp(milliseconds: 1))
            }
        }
        let first = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"
        #expect(try await reader.settle([notified(first), notified(first.uppercased())]) == [.forwarded, .duplicate])
        #expect(try await reader.settle([notified(first.uppercased())]) == [.duplicate])
        // Equal state, another notification: history.
        let other = "102e14d5-51f5-4503-b5a8-c3a1af68eb20"
        #expect(try await reader.settle([notified(other)]) == [.forwarded])
        #expect(try await reader.settle([notified(nil), notified(nil)]) == [.forwarded, .forwarded])
        #expect(try await reader.settle([.transaction("1")]) == [.duplicate])
    }

    @Test func `an earlier record that names the same user is forwarded, a later one is not`() async throws {
        let reader = try await Reader()
        func named(_ timestamp: Int64, _ partitionOffset: Int64) -> Sample {
            Sample.transaction("1").with {
                $0.ingestUserID = "anna"
                $0.rawTimestamp = timestamp
                $0.rawOffset = partitionOffset
            }
        }
        #expect(
            try await reader.settle([named(5, 5), named(6, 1), named(5, 9), named(5, 5)]) == [
                .forwarded, .duplicate, .duplicate, .duplicate,
            ])
        #expect(
            try await reader.settle([named(5, 4), named(4, 9), named(5, 4)]) == [.refreshed, .refreshed, .duplicate])
    }

    @Test func `an ingestion claim is news once, whichever record carries it first`() async throws {
        let reader = try await Reader()
        let bare = Sample.transaction("1")
        let claimed = bare.with { $0.ingestUserID = "anna" }
        let other = bare.with { $0.ingestUserID = "bob" }
        #expect(
            try await reader.settle([bare, claimed, claimed, other]) == [
                .forwarded, .forwarded, .duplicate, .forwarded,
            ])
        #expect(try await reader.settle([bare, claimed, other]).allSatisfy { $0 == .duplicate })
    }

    @Test func `an ID past its retention is forwarded once more`() async throws {
        let reader = try await Reader()
        let samples = [
            Sample.transaction("1"),
            Sample.transaction("2").with {
                $0.notification = ObservedNotification(
                    type: "TEST", subtype: nil, uuid: "u", signedDate: Timestamp(milliseconds: 1))
            },
        ]
        _ = try await reader.settle(samples)
        await RevisionPruning.prune(reader.client, olderThan: .seconds(3600))
        #expect(try await reader.settle(samples) == [.duplicate, .duplicate])
        for table in ["dedupe_revisions", "dedupe_notifications"] {
            _ = try await reader.client.query("UPDATE \(table) SET marked_at = now() - interval '2 hours'")
        }
        await RevisionPruning.prune(reader.client, olderThan: .seconds(3600))
        #expect(try await reader.settle(samples) == [.forwarded, .forwarded])
    }

    @Test func `a receipt's track and a JWS's are remembered apart`() async throws {
        let reader = try await Reader()
        let signed = Sample.transaction("1", signed: 5)
        let receipt = Sample.transaction("1", content: "B", signed: 3).with { $0.method = .receipt }
        #expect(try await reader.settle([signed, receipt]) == [.forwarded, .forwarded])
        #expect(try await reader.settle([signed, receipt]) == [.duplicate, .duplicate])
    }

    @Test func `marks never sink, whichever worker comes last`() async throws {
        let reader = try await Reader()
        let late = try await reader.process([.transaction("1", content: "A", signed: 1)])
        let other = Reader.stage(on: reader.client)
        let newer = try [Sample.transaction("1", content: "B", signed: 2)].records(from: 7)
        try await other.acknowledged(newer, try await other.process(newer))
        try await reader.stage.acknowledged(late.records, late.verdicts)
        reader.restart()
        #expect(try await reader.settle([.transaction("1", content: "B", signed: 2)]) == [.duplicate])
    }

    @Test func `a record that is no observation is a dead letter among good ones`() async throws {
        let reader = try await Reader()
        let good = try [Sample.transaction("1"), .transaction("2")].records()
        let bad = [nil, [], Array("{}".utf8), Array("{\"schemaVersion\":0}".utf8)].map { (value: [UInt8]?) in
            ConsumerRecord(topicPartition: good[0].topicPartition, offset: 0, value: value)
        }
        let verdicts = try await reader.stage.process([good[0]] + bad + [good[1]])
        #expect(verdicts.map(\.disposition) == [.forwarded] + bad.map { _ in .deadLettered } + [.forwarded])
        for verdict in verdicts[1...bad.count] { #expect(verdict.refusal?.reason == .observationMalformed) }
    }
}
