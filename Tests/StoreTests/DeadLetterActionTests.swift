import AppStore
import JSON
import Postgres
import TestSupport
import Testing

@testable import Store

/// Actions on dead letters, and the states that follow from them.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterActionTests {
    private typealias Sample = DeadLetterSample

    private static func action(
        _ kind: DeadLetterAction.Kind, _ id: String?, why: String? = "because", replay: Int64? = nil
    ) throws -> NewDeadLetterAction {
        NewDeadLetterAction(who: try Sample.name("anna"), kind: kind, why: why, deadLetterID: id, replay: replay)
    }

    private static func state(of id: String, _ client: PostgresClient) async throws -> (DeadLetterState?, JSONContent?)
    {
        let row = try await DeadLetterTable.get([id], on: client).first
        return (row?.state, try await DeadLetterTable.answer(about: id, on: client))
    }

    @Test(arguments: [
        ([DeadLetterAction.Kind.resolved], DeadLetterState.resolved, nil as Bool?), ([.suppressed], .suppressed, nil),
        ([.suppressed, .reopened], .open, nil), ([.replayed], .replayed, nil),
        ([.replayed, .replayAccepted], .replayed, true), ([.replayed, .replayRefused], .open, false),
        ([.replayed, .replayRefused, .replayed], .replayed, nil),
        ([.replayed, .resolved, .replayRefused], .resolved, nil), ([.resolved, .revealed], .resolved, nil),
        ([.resolved, .replayed], .replayed, nil),
    ]) func `the state follows from the actions`(
        kinds: [DeadLetterAction.Kind], state: DeadLetterState, isAccepted: Bool?
    ) async throws {
        let client = try await Sample.database()
        try await Sample.index([Sample.row(1), Sample.row(2)], on: client)
        for kind in kinds {
            let replay: Int64? = kind.rawValue.hasPrefix("replay") ? 7 : nil
            try await DeadLetterActionTable.append([try Self.action(kind, "id1", replay: replay)], on: client)
        }
        let (held, answer) = try await Self.state(of: "id1", client)
        #expect(held == state)
        #expect(answer?["state"].text == state.rawValue)
        #expect(answer?["outcome"].text == isAccepted.map { $0 ? "accepted" : "refused" })
        #expect(try await Self.state(of: "id2", client).0 == .open)
        let history = answer?["history"].elements ?? []
        #expect(history.map { $0["action"].text } == kinds.reversed().map(\.rawValue))
        #expect(history.allSatisfy { $0["who"].text == "anna" })
    }

    @Test func `a letter that is indexed later has the state of its actions`() async throws {
        let client = try await Sample.database()
        try await DeadLetterActionTable.append([try Self.action(.resolved, "id1")], on: client)
        try await Sample.index([Sample.row(1)], on: client)
        #expect(try await Self.state(of: "id1", client).0 == .resolved)
        // A newer copy of the letter is no new letter.
        try await Sample.index([Sample.row(1, offset: 9, failedAt: Sample.start * 2)], on: client)
        #expect(try await Self.state(of: "id1", client).0 == .resolved)
    }

    @Test func `a letter that is indexed in the same moment has the state too`() async throws {
        let client = try await Sample.database()
        for number in 0..<20 {
            async let indexed = Sample.index([Sample.row(number)], on: client)
            async let acted: Void = DeadLetterActionTable.append(
                [try Self.action(.suppressed, "id\(number)")], on: client)
            _ = try await (indexed, acted)
            #expect(try await Self.state(of: "id\(number)", client).0 == .suppressed)
        }
    }

    @Test(arguments: [
        "UPDATE dead_letter_actions SET who = 'nobody'", "DELETE FROM dead_letter_actions",
        "TRUNCATE dead_letter_actions", "DELETE FROM dead_letter_actions WHERE number = 4711",
    ]) func `actions can be appended, and nothing else`(sql: String) async throws {
        let client = try await Sample.database()
        try await DeadLetterActionTable.append([try Self.action(.signedIn, nil)], on: client)
        let error = await #expect(throws: PostgresError.self) { _ = try await client.query(sql) }
        #expect(error?.message.contains("append-only") == true)
        let newest = try await DeadLetterActionTable.newest(limit: 5, on: client)
        #expect(newest.map(\.kind) == [.signedIn])
    }

    @Test(arguments: [
        (DeadLetterAction.Kind.resolved, "id1" as String?, nil as String?), (.resolved, "id1", ""),
        (.resolved, nil, "because"), (.revealed, nil, "because"), (.revealed, "id1", nil), (.exported, nil, ""),
        (.redacted, "id1", nil),
    ]) func `a decision names its letter and says why`(kind: DeadLetterAction.Kind, id: String?, why: String?)
        async throws
    {
        let client = try await Sample.database()
        await #expect(throws: PostgresError.self) {
            try await DeadLetterActionTable.append([Self.action(kind, id, why: why)], on: client)
        }
    }

    /// A redaction that an investigator could record would end the replay of a letter for good.
    @Test func `a kind is recorded by its own function alone`() async throws {
        let client = try await Sample.database()
        for kind in DeadLetterAction.Kind.allCases {
            for function in Set(DeadLetterAction.Kind.allCases.map(\.function)) where function != kind.function {
                let error = await #expect(throws: PostgresError.self) {
                    try await client.query(
                        "SELECT \(function)('a', $1, 'b', NULL, ARRAY['c'], '{}')", [.text(kind.rawValue)])
                }
                #expect(error?.sqlState?.code == "22023", "\(kind)")
            }
        }
    }

    @Test func `a decision about a filter skips letters already decided so`() async throws {
        let client = try await Sample.database()
        try await Sample.index((0..<10).map { Sample.row($0) }, on: client)
        var query = DeadLetterQuery()
        query.environment = "Sandbox"
        func decide(_ kind: DeadLetterAction.Kind, expecting expected: Int64? = nil) async throws -> [Int64] {
            let (found, changed) = try await DeadLetterActionTable.decide(
                kind, query, who: try Sample.name("boss"), why: "a test\0", expecting: expected, deadline: .seconds(60),
                on: client)
            return [found, changed]
        }
        #expect(try await decide(.resolved, expecting: 4) == [5, 0])
        #expect(try await decide(.resolved, expecting: 5) == [5, 5])
        #expect(try await decide(.resolved) == [5, 0])
        query.states = [.resolved]
        #expect(try await DeadLetterCounts.count(query, on: client) == 5)
        #expect(try await decide(.reopened) == [5, 5])
        #expect(try await DeadLetterCounts.count(query, on: client) == 0)
        let newest = try await DeadLetterActionTable.newest(limit: 3, on: client)
        let older = try await DeadLetterActionTable.newest(before: newest[2].number, limit: 100, on: client)
        #expect(newest.count + older.count == 10)
        #expect(newest.allSatisfy { $0.why == "a test\\u{0}" && $0.who == "boss" })
    }

    @Test func `actions are found by who, what, replay and time`() async throws {
        let client = try await Sample.database()
        let boss = try Sample.name("boss")
        try await DeadLetterActionTable.append(
            [
                .init(who: boss, kind: .resolved, why: "a", deadLetterID: "id1"),
                .init(who: boss, kind: .replayStarted, replay: 7),
                .init(who: try Sample.name("other"), kind: .signedIn),
            ], on: client)
        func found(_ change: (inout DeadLetterActionQuery) -> Void) async throws -> [DeadLetterAction.Kind] {
            var query = DeadLetterActionQuery()
            change(&query)
            return try await DeadLetterActionTable.newest(query, limit: 9, on: client).map(\.kind)
        }
        #expect(try await found { $0.who = "boss" } == [.replayStarted, .resolved])
        #expect(try await found { $0.kind = .signedIn } == [.signedIn])
        #expect(try await found { $0.replay = 7 } == [.replayStarted])
        let oldest = try #require(try await DeadLetterActionTable.newest(limit: 9, on: client).last)
        // Stored to the microsecond, and read to the millisecond.
        #expect(try await found { $0.until = oldest.at } == [])
        #expect(try await found { $0.since = oldest.at }.count == 3)
    }

    @Test(arguments: ["", "a\nb", "\u{7F}", String(repeating: "x", count: 256)]) func `a name is short text`(
        text: String
    ) { #expect(AuditorName(text) == nil) }
}
