import Store
import TestSupport
import Testing

@testable import AuditConsole

/// The history of all actions, grouped and filtered.
@Suite(.timeLimit(.minutes(10))) struct HistoryPageTests {
    private static func rows(_ page: String) -> Int { page.matches(of: /<tr><td><time/).count }

    /// Three letters resolved at once, one of them reopened, and another one revealed.
    private static func fixture() async throws -> ConsoleFixture {
        let fixture = try await ConsoleFixture(letters: (0..<3).map { .plain($0) })
        let otto = try #require(AuditorName("otto"))
        let ines = try #require(AuditorName("ines"))
        let resolved = fixture.ids.map { id in
            NewDeadLetterAction(who: otto, kind: .resolved, why: "a test root", deadLetterID: id)
        }
        let others: [NewDeadLetterAction] = [
            .init(who: otto, kind: .reopened, why: "too early", deadLetterID: fixture.ids[1]),
            .init(who: ines, kind: .revealed, why: "case 17", deadLetterID: fixture.ids[2]),
        ]
        try await DeadLetterActionTable.append(resolved + others, on: fixture.database)
        return fixture
    }

    @Test func `a decision about many letters is one row that unfolds`() async throws {
        let fixture = try await Self.fixture()
        let page = try await fixture.client(as: "vera").get("/history").body
        #expect(page.contains("<summary>3 letters</summary>"))
        // The sign-in, the two single actions and the decision.
        #expect(Self.rows(page) == 4)
        for id in fixture.ids { #expect(page.contains("href=\"/letters/\(id)\"")) }
    }

    @Test func `a replay of many letters is one row, also with others' actions in between`() async throws {
        let fixture = try await ConsoleFixture(letters: [.plain(1)])
        let otto = try #require(AuditorName("otto"))
        func action(_ kind: DeadLetterAction.Kind, _ letter: Int? = nil, detail: String? = nil) -> NewDeadLetterAction {
            NewDeadLetterAction(
                who: otto, kind: kind, why: "mended", deadLetterID: letter.map { "letter \($0)" }, replay: 7,
                detail: detail)
        }
        let database = fixture.database
        var actions = [action(.replayStarted, detail: "120 dead letters: all")]
        let letters = Array(0..<120)
        actions += letters.map { (letter: Int) in action(.replayed, letter, detail: "raw/0/\(letter)") }
        try await DeadLetterActionTable.append(actions, on: database)
        let client = try await fixture.client(as: "vera")
        actions = letters.map { (letter: Int) in action(letter % 40 == 0 ? .replayRefused : .replayAccepted, letter) }
        try await DeadLetterActionTable.append(actions + [action(.replayCompleted)], on: database)
        let page = try await client.get("/history").body
        // The sign-in besides.
        #expect(Self.rows(page) == 2)
        #expect(page.contains("replay_completed") && page.contains("120 dead letters: all"))
        #expect(!page.contains("letter 1"))
        let refused = try await client.get("/history?replay=7&action=replay_refused").body
        #expect(Self.rows(refused) == 1 && refused.contains("<summary>3 letters</summary>"))
    }

    @Test(arguments: [
        ("who=otto", 2), ("who=ines", 1), ("who=nobody", 0), ("action=revealed", 1), ("who=otto&action=resolved", 1),
        ("since=1h&action=resolved", 1), ("until=1h", 0), ("replay=7", 0),
    ]) func `the history is filtered`(filter: String, rows: Int) async throws {
        let fixture = try await Self.fixture()
        let page = try await fixture.client(as: "vera").get("/history?\(filter)").body
        #expect(Self.rows(page) == rows)
        #expect(page.contains("No action matches.") == (rows == 0))
    }

    @Test(arguments: ["since=yesterday", "action=eaten", "replay=x"])
    func `an invalid filter of the history is named, and nothing is shown`(filter: String) async throws {
        let fixture = try await Self.fixture()
        let page = try await fixture.client(as: "vera").get("/history?\(filter)").body
        #expect(page.contains("role=\"alert\""))
        #expect(Self.rows(page) == 0)
    }

    @Test func `older actions follow under the same filter, each once`() async throws {
        let fixture = try await ConsoleFixture(letters: [.plain(1)])
        let otto = try #require(AuditorName("otto"))
        let actions = (0..<230).map { number in
            NewDeadLetterAction(
                who: otto, kind: number.isMultiple(of: 2) ? .resolved : .reopened, why: "step \(number)",
                deadLetterID: fixture.ids[0])
        }
        try await DeadLetterActionTable.append(actions, on: fixture.database)
        let client = try await fixture.client(as: "vera")
        var path: String? = "/history?who=otto"
        var seen: [String] = []
        while let next = path {
            let page = try await client.get(next).body
            seen += page.matches(of: /step \d+/).map { String($0.output) }
            path = page.firstMatch(of: /href="(\/history\?[^"]*before[^"]*)"/).map {
                String($0.1).replacing("&amp;", with: "&")
            }
            #expect(path?.contains("who=otto") ?? true)
        }
        #expect(seen.count == 230)
        #expect(Set(seen).count == 230)
    }
}
