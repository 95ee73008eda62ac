import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import Records
import TestSupport
import Testing
import Worker

@testable import DedupeStage

/// The answers for requests whose record a stage refuses.
@Suite(.timeLimit(.minutes(10))) struct RefusalAnswerTests {
    private static let header = KafkaHeader(name: "correlation-id", text: "request")

    /// A reader that has forwarded the first purchase of a transaction.
    private static func reader() async throws -> DedupeStageTests.Reader {
        let reader = try await DedupeStageTests.Reader()
        let first = try Signed.transaction("1", signed: 1).record(at: 0)
        let verdicts = try await reader.stage.process([first])
        try await reader.stage.acknowledged([first], verdicts)
        return reader
    }

    private static func conflict(at offset: Int64, headers: [KafkaHeader] = [header], index: Int = 0, of count: Int = 1)
        throws -> ConsumerRecord
    {
        try Signed.transaction("1", signed: 2, product: "other").observation(index, of: count).record(
            at: offset, headers: headers)
    }

    @Test func `a purchase that contradicts known facts is answered with its user's entitlements`() async throws {
        let reader = try await Self.reader()
        let worker = try await EntitleWorker(on: reader.client)
        try await worker.own([
            Signed.key("1"): Ownership(userID: "anna", rule: .accountToken),
            Signed.key("2"): Ownership(userID: "anna", rule: .accountToken),
        ])
        _ = try await worker.process([try Signed.transaction("1", signed: 1), try Signed.transaction("2", signed: 1)])
        let verdict = try #require(try await reader.stage.process([try Self.conflict(at: 1)]).first)
        #expect(verdict.disposition == .deadLettered)
        let outcome = try #require(verdict.outcome)
        #expect(outcome.status == .deadLettered)
        #expect(outcome.reason == "transaction_conflict")
        #expect(outcome.userID == "anna")
        let held = try JSONDocument(parsing: outcome.entitlements ?? []).root
        #expect(held.elements.compactMap { $0["originalTransactionID"]?.string } == ["1", "2"])
        #expect(held.elements.map { $0["isActive"]?.bool } == [false, false] && outcome.asOf != nil)
    }

    @Test func `a refused observation lists its user's entitlements if it is the last of its body`() async throws {
        let reader = try await Self.reader()
        let worker = try await EntitleWorker(on: reader.client)
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        let verdicts = try await reader.stage.process([
            try Self.conflict(at: 1, index: 0, of: 2), try Self.conflict(at: 2, index: 1, of: 2),
        ])
        #expect(verdicts.map { $0.outcome?.userID } == ["anna", "anna"])
        #expect(verdicts.map { $0.outcome?.entitlements == nil } == [true, false])
    }

    @Test func `an unknown user is not named`() async throws {
        let reader = try await Self.reader()
        let verdict = try await reader.stage.process([try Self.conflict(at: 1)])[0]
        #expect(verdict.outcome?.status == .deadLettered)
        #expect(verdict.outcome?.userID == nil)
        #expect(verdict.outcome?.entitlements == nil)
    }

    @Test func `a record that no request waits for has no answer`() async throws {
        let reader = try await Self.reader()
        let verdict = try await reader.stage.process([try Self.conflict(at: 1, headers: [])])[0]
        #expect(verdict.disposition == .deadLettered)
        #expect(verdict.outcome == nil)
    }
}
