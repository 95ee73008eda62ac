import AppStore
import Entitlements
import JSON
import Kafka
import Records
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// The answers for the requests that wait for a record.
@Suite(.timeLimit(.minutes(10))) struct EntitleOutcomeTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    private static func outcomes(_ worker: EntitleWorker, _ observations: [Observation]) async throws -> [Outcome?] {
        let header = KafkaHeader(name: "correlation-id", text: "request")
        let records = observations.enumerated().map { index, observation in
            observation.record(at: Int64(index), headers: [header])
        }
        return try await worker.stage.process(records).map(\.outcome)
    }

    private static func statuses(_ worker: EntitleWorker, _ observations: [Observation]) async throws -> [String] {
        try await outcomes(worker, observations).map { $0?.status.rawValue ?? "none" }
    }

    @Test func `each record is answered with its own outcome`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        var first = try Signed.transaction("1", signed: 5)
        first.source?.position.offset = 1
        var other = first
        other.source?.position.offset = 2
        var marked = other
        marked.isDuplicate = true
        let statuses = try await Self.statuses(
            worker,
            [
                first, other, marked, try Signed.transaction("1", signed: 4, revoked: 50),
                try Signed.transaction("2", signed: 1), try Signed.notification("TEST", signed: 1),
                try Signed.transaction("1", signed: 9, product: "other"),
            ])
        #expect(
            statuses == ["applied", "duplicate", "duplicate", "superseded", "unlinked", "recorded", "dead_lettered"])
    }

    @Test func `a record that is read again after a crash gets the same answer`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        var first = try Signed.transaction("1", signed: 5)
        first.source?.position.offset = 7
        #expect(try await Self.statuses(worker, [first]) == ["applied"])
        #expect(try await Self.statuses(worker, [first]) == ["applied"])
        first.source?.position.offset = 8
        #expect(try await Self.statuses(worker, [first]) == ["duplicate"])
    }

    @Test func `the answer holds the entitlements at that time, in this environment`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna, Signed.key("2"): Self.anna])
        let sandbox = try Signed.transaction("3", signed: 1).with { $0.environment = .sandbox }
        var key = Signed.key("3")
        key.environment = .sandbox
        try await worker.own([key: Self.anna])
        _ = try await worker.process([try Signed.transaction("2", signed: 1), sandbox])
        let outcomes = try await Self.outcomes(
            worker, [try Signed.transaction("1", signed: 1), try Signed.transaction("4", signed: 1)])
        #expect(outcomes.map { $0?.userID } == ["anna", nil])
        #expect(outcomes[1]?.entitlements == nil)
        let held = try JSONDocument(parsing: outcomes[0]?.entitlements ?? []).root
        #expect(held.elements.compactMap { $0["originalTransactionID"]?.string } == ["1", "2"])
        // Both ended in 1970: a list is no access.
        #expect(held.elements.map { $0["isActive"]?.bool } == [false, false])
        #expect(outcomes[0]?.asOf != nil && outcomes[1]?.asOf == nil)
    }

    @Test func `only the last observation of a body lists the user's entitlements`() async throws {
        let worker = try await EntitleWorker()
        let ids = ["1", "2", "3"]
        for id in ids { try await worker.own([Signed.key(id): Self.anna]) }
        let body = try ids.enumerated().map { index, id in
            try Signed.transaction(id, signed: 1).observation(index, of: ids.count)
        }
        let outcomes = try await Self.outcomes(worker, body).compactMap { $0 }
        #expect(outcomes.map(\.userID) == ["anna", "anna", "anna"])
        #expect(outcomes.map { $0.entitlements == nil } == [true, true, false])
        let held = try JSONDocument(parsing: outcomes[2].entitlements ?? []).root
        #expect(held.elements.compactMap { $0["originalTransactionID"]?.string } == ids)
    }

    @Test func `the answers to a large body grow with the entitlements, not with their square`() async throws {
        let worker = try await EntitleWorker()
        let ids = (1...300).map { String($0) }
        for id in ids { try await worker.own([Signed.key(id): Self.anna]) }
        let body = try ids.enumerated().map { index, id in
            try Signed.transaction(id, signed: 1).observation(index, of: ids.count)
        }
        let outcomes = try await Self.outcomes(worker, body)
        let bytes = outcomes.reduce(0) { $0 + ($1?.entitlements?.count ?? 0) }
        #expect(bytes > 300 * 100 && bytes < 300 * 300, "\(bytes) bytes of holdings")
    }

    @Test func `a record that no request waits for costs nothing and has no answer`() async throws {
        let worker = try await EntitleWorker()
        let verdicts = try await worker.process([try Signed.transaction("1", signed: 1)])
        #expect(verdicts[0].outcome == nil)
    }
}
