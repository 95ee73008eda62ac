import AppStore
import Foundation
import Kafka
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// Untrusted text is text on every page.
@Suite(.timeLimit(.minutes(10))) struct HostileLetterTests {
    static let script = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    /// Right-to-left override, isolate, a bell and a zero-width space.
    static let reordering = "abc\u{202E}def\u{2067}ghi\u{7}\u{200B}"

    static func letter() -> SampleLetter {
        var letter = SampleLetter.plain(7)
        letter.detail = script
        letter.worker = script + reordering
        letter.key = Array(script.utf8)
        letter.value = Array(
            """
            {"signedPayload": "<script>alert(3)</script>", "x": "</pre><script>alert(4)</script>",
            "appAccountToken": "7f3c1a00-0000-4000-8000-000000000001", "y": "\(reordering)"}
            """.utf8)
        letter.headers = [
            KafkaHeader(name: script, text: script), KafkaHeader(name: "producer", text: script),
            KafkaHeader(name: "rtl", text: reordering),
            KafkaHeader(nameBytes: [0xFF, 0xFE, 0x3C], value: [0xC3, 0x28, 0xA0, 0x3C]),
            KafkaHeader(name: "long", text: String(repeating: "<b>", count: 34_000)),
            KafkaHeader(name: "null", value: nil),
        ]
        letter.identifiers = { identifiers in
            identifiers.transactionID = script
            identifiers.originalTransactionID = reordering
            identifiers.bundleID = script
            identifiers.environment = script
            identifiers.productID = script
        }
        return letter
    }

    private func pages(_ fixture: ConsoleFixture) async throws -> [String] {
        let id = fixture.ids[0]
        let client = try await fixture.client(as: "otto")
        let decided = try await client.submit(
            "/letters/\(id)/state", [("kind", "resolved"), ("note", Self.script + Self.reordering)],
            from: "/letters/\(id)")
        #expect(decided.status == 303)
        let revealed = try await client.submit("/letters/\(id)/reveal", [("why", Self.script)], from: "/letters/\(id)")
        let question = "q=%3Cscript%3Ealert(1)%3C/script%3E"
        let filters = LetterFilter.names.map { "\($0)=%22%3E%3Cscript%3Ealert(5)" }.filter { !$0.hasPrefix("q=") }
            .joined(separator: "&")
        let paths = [
            "/", "/groups?state=all", "/search", "/search?\(question)", "/search?\(filters)", "/letters/\(id)",
            "/letters/%3Cscript%3Ealert(6)", "/history", "/help", "/%3Cscript%3Ealert(7)",
            "/search?after=%22%3E%3Cscript%3E",
        ]
        var pages = [revealed.body]
        for path in paths { pages.append(try await client.get(path).body) }
        return pages
    }

    @Test func `no field of a hostile letter becomes markup`() async throws {
        let fixture = try await ConsoleFixture(letters: [Self.letter()])
        for page in try await pages(fixture) {
            #expect(page.contains("</html>"))
            // The page's own script is the one with a source.
            let scripts = page.matches(of: /<script[^>]*>/).map { String($0.output) }
            #expect(scripts.allSatisfy { $0.hasPrefix("<script src=\"/assets/") })
            #expect(scripts.count == 1)
            #expect(!page.contains("<img"))
            #expect(!page.contains("<b><b>"))
            #expect(page.firstMatch(of: /<[^>]*\sonerror/) == nil)
            let harmful = "\u{202E}\u{2067}\u{7}\u{200B}".unicodeScalars
            #expect(!page.unicodeScalars.contains { harmful.contains($0) })
        }
    }

    @Test func `a long header is cut, with the number of hidden bytes`() async throws {
        let fixture = try await ConsoleFixture(letters: [Self.letter()])
        let path = "/letters/\(fixture.ids[0])"
        let page = try await fixture.client(as: "ines").submit(path + "/reveal", [("why", "a test")], from: path).body
        #expect(page.contains("97904 bytes left out"))
        #expect(page.utf8.count < 120_000)
        #expect(page.contains("<bdi>abc\\u{202e}def"))
    }

    @Test func `no page shows a viewer a secret, whatever part of an original holds it`() async throws {
        let canaries = try Canary.all()
        let fixture = try await ConsoleFixture(letters: canaries.enumerated().map { SampleLetter($1, number: $0) })
        let client = try await fixture.client(as: "otto")
        let paths =
            fixture.ids.map { "/letters/\($0)" } + fixture.ids.map { "/replays/new?id=\($0)" } + [
                "/", "/groups?state=all", "/search", "/history", "/replays", "/help",
            ]
        for path in paths {
            let page = try await client.get(path)
            #expect(page.status == 200, "\(path)")
            #expect(Canary.leaks(in: page.body) == [], "\(path)")
        }
        let path = "/letters/\(fixture.ids[0])"
        let revealed = try await client.submit(path + "/reveal", [("why", "a")], from: path)
        #expect(!Canary.leaks(in: revealed.body).isEmpty)
    }

    @Test func `the page of each hostile body is bounded, and others are answered beside it`() async throws {
        let bodies = try HostileBody.all()
        let fixture = try await ConsoleFixture(
            letters: bodies.enumerated().map { number, body in
                var letter = SampleLetter.plain(number)
                letter.value = body.bytes
                return letter
            })
        let client = try await fixture.client(as: "ines")
        for (id, body) in zip(fixture.ids, bodies) {
            let path = "/letters/\(id)"
            let page = try await client.get(path)
            let revealed = try await client.submit(path + "/reveal", [("why", "a")], from: path)
            #expect(page.status == 200 && page.body.utf8.count < 2 << 20, "\(body)")
            #expect(revealed.status == 200 && revealed.body.utf8.count < 2 << 20, "\(body)")
        }
    }

    @Test func `nothing of a redacted letter is shown, though the topic holds a copy`() async throws {
        let fixture = try await ConsoleFixture(letters: [Self.letter()])
        let path = "/letters/\(fixture.ids[0])"
        let redaction = NewDeadLetterAction(
            who: try #require(AuditorName("lea")), kind: .redacted, why: "asked for", deadLetterID: fixture.ids[0])
        try await DeadLetterActionTable.append([redaction], on: fixture.database)
        let client = try await fixture.client(as: "ines")
        let page = try await client.submit(path + "/reveal", [("why", "a test")], from: path)
        #expect(page.body.contains("The original was redacted"))
        #expect(!page.body.contains("7f3c1a00"))
        #expect(!page.body.contains("alert(4)"))
    }

    @Test func `tokens are hidden until they are revealed, which is recorded first`() async throws {
        let fixture = try await ConsoleFixture(letters: [Self.letter()])
        let path = "/letters/\(fixture.ids[0])"
        let token = "7f3c1a00-0000-4000-8000-000000000001"
        let client = try await fixture.client(as: "ines")
        #expect(try await !client.get(path).body.contains(token))
        #expect(try await client.submit(path + "/reveal", [("why", " ")], from: path).status == 400)
        func history() async throws -> [DeadLetterAction] {
            try await DeadLetterActionTable.newest(limit: 9, on: fixture.database).filter { $0.deadLetterID != nil }
        }
        #expect(try await history().isEmpty)
        let revealed = try await client.submit(path + "/reveal", [("why", "case 17")], from: path)
        #expect(revealed.body.contains(token))
        let actions = try await history()
        #expect(actions.map(\.kind) == [.revealed] && actions.first?.deadLetterID == fixture.ids[0])
        #expect(actions.first?.who == "ines")
        #expect(actions.first?.why == "case 17")
        #expect(try await !client.get(path).body.contains(token))
    }
}

extension SampleLetter {
    /// The letter of the verifier's refusal.
    fileprivate init(_ canary: Canary, number: Int) {
        self.init(number: number)
        (key, value, headers) = (canary.key, canary.value, canary.headers)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: []))
        guard case .failure(let refusal) = verifier.verify(canary.value) else { return }
        (reason, detail) = (refusal.reason, refusal.detail)
        identifiers = { $0 = refusal.unverified }
    }
}
