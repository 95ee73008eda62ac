import AppStore
import Foundation
import HTTP
import Postgres
import Simulation
import Store
import TestSupport
import Testing

@testable import AuditConsole
@testable import DeadLetters

/// The pages' content and actions, without a browser.
@Suite(.timeLimit(.minutes(10))) struct PagesTests {
    private static func letters(_ count: Int) -> [SampleLetter] {
        let reasons: [RefusalReason] = [.signatureInvalid, .rootUntrusted, .bundleMismatch]
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return (0..<count).map { number in
            var letter = SampleLetter.plain(number)
            letter.reason = reasons[number % 3]
            letter.failedAt = Timestamp(milliseconds: now - Int64(number) * 600_000)
            return letter
        }
    }

    @Test func `the overview counts open letters, by reason and hour`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(30))
        let page = try await fixture.client(as: "vera").get("/").body
        #expect(page.contains("<b>30</b>"))
        #expect(page.contains("Dead letters per hour, 24 hours: "))
        for reason in ["signature_invalid 10", "root_untrusted 10", "bundle_mismatch 10"] {
            #expect(page.contains(reason))
        }
        #expect(page.contains("As a table"))
    }

    @Test func `the overview shows the chains' state and the share of all bodies`() async throws {
        var chains = ChainReport()
        chains.traffic.bodies = 12_000
        chains.traffic.deadLettered = 150
        let fixture = try await ConsoleFixture(chains: chains)
        let client = try await fixture.client(as: "vera")
        try await eventually { try await client.get("/").body.contains("<b>intact</b>") }
        let page = try await client.get("/").body
        #expect(page.contains("<b>1.3 %</b>"))
        #expect(page.contains("150 of 12,000 that verify-worker had counted"))
    }

    @Test func `a letter's certificates are shown with their faults`() async throws {
        let authority = try CertificateAuthority(name: "Somebody & Sons")
        let jws = try authority.sign(Array(#"{"transactionId":"7","signedDate":1}"#.utf8))
        var letter = SampleLetter.plain(1)
        letter.value = Body.transaction(jws)
        let fixture = try await ConsoleFixture(letters: [letter])
        let client = try await fixture.client(as: "vera")
        let page = try await client.get("/letters/\(fixture.ids[0])").body
        #expect(page.contains("Certificates of "))
        #expect(page.contains("Somebody &amp; Sons"))
        #expect(page.contains("it is not Apple Root CA - G3, by its fingerprint"))
        for role in ["leaf", "intermediate", "root"] {
            #expect(page.contains("\(role)</bdi></h3>") || page.contains(">\(role)<"))
        }
    }

    @Test func `a search is paged to its end, each letter once`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(120))
        let client = try await fixture.client(as: "vera")
        var path: String? = "/search?class=forged"
        var seen: [String] = []
        while let next = path {
            let page = try await client.get(next).body
            seen += page.matches(of: /href="\/letters\/([0-9a-f]{32})"/).map { String($0.1) }
            path = page.firstMatch(of: /href="(\/search\?[^"]*after[^"]*)"/).map {
                String($0.1).replacing("&amp;", with: "&")
            }
        }
        #expect(seen.count == 80)
        #expect(Set(seen).count == 80)
    }

    @Test func `any identifier finds its letter`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(9))
        let client = try await fixture.client(as: "vera")
        for text in [String(fixture.ids[4].prefix(10)), "2000004", "storekit.raw/3/4"] {
            let page = try await client.get("/search?\(HTTPForm.encoded([HTTPItem("q", text)]))").body
            #expect(page.contains("href=\"/letters/\(fixture.ids[4])\""), "\(text)")
            #expect(!page.contains("href=\"/letters/\(fixture.ids[5])\""), "\(text)")
        }
    }

    @Test(arguments: ["since=yesterday", "state=closed", "source=raw"])
    func `an invalid filter is named, and nothing is shown`(filter: String) async throws {
        let fixture = try await ConsoleFixture()
        let page = try await fixture.client(as: "vera").get("/search?\(filter)").body
        #expect(page.contains("role=\"alert\""))
        #expect(!page.contains("/letters/"))
    }

    @Test func `a decision about a filter is recorded for each letter once`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(9))
        let client = try await fixture.client(as: "otto")
        let fields = [("kind", "resolved"), ("note", "a test root"), ("filter", "reason=root_untrusted")]
        // One click shows the effect, and does nothing.
        let asked = try await client.submit("/decisions", fields, from: "/help")
        #expect(asked.status == 200 && asked.body.contains("3 dead letters would be resolved"))
        #expect(asked.body.contains("a test root"))
        let others = fields + [("confirmed", "2")]
        #expect(try await client.submit("/decisions", others, from: "/help").status == 409)
        #expect(try await client.get("/search?state=resolved").body.contains("No dead letter"))
        for expected in [3, 0] {
            let confirmed = fields + [("confirmed", "3")]
            let answer = try await client.submit("/decisions", confirmed, from: "/help")
            #expect(answer.location == "/search?reason=root_untrusted&done=\(expected)")
        }
        let everything = [("kind", "resolved"), ("note", "all"), ("filter", "")]
        #expect(try await client.submit("/decisions", everything, from: "/help").status == 400)
        let open = try await client.get("/search?state=resolved").body
        #expect(open.contains("3 of 3 dead letters"))
        #expect(try await client.get("/history").body.contains("a test root"))
    }

    @Test func `a decision is about the letters that were confirmed or about none`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(9))
        let client = try await fixture.client(as: "otto")
        // As if one of seven letters had gone between the count and the decision.
        _ = try await fixture.database.query(
            """
            UPDATE dead_letter_hours SET letters = letters + 1
            WHERE ctid = (SELECT ctid FROM dead_letter_hours WHERE class = 'forged' LIMIT 1)
            """)
        let fields = [("kind", "resolved"), ("note", "a test root"), ("filter", "class=forged")]
        let confirmed = fields + [("confirmed", "7")]
        #expect(try await client.submit("/decisions", confirmed, from: "/help").status == 409)
        #expect(try await client.get("/search?state=resolved").body.contains("No dead letter"))
        // A time ago is an instant from the confirmation on.
        let recent = Array(fields.dropLast()) + [("filter", "class=forged&since=1h")]
        let asked = try await client.submit("/decisions", recent, from: "/help").body
        #expect(asked.contains(/name="filter" value="class=forged&amp;since=20[^"]*Z"/))
    }

    @Test func `the history has the note of a confirmed decision as it was written`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "otto")
        let note = "a\u{200D}b <&> \u{85}c"
        let fields = [("kind", "resolved"), ("note", note), ("filter", "state=open")]
        let asked = try await client.submit("/decisions", fields, from: "/help").body
        #expect(!asked.contains(note))
        let form = asked.components(separatedBy: "action=\"/decisions\"").last ?? ""
        let hidden = form.matches(of: /type="hidden" name="([^"]*)" value="([^"]*)"/).map {
            (String($0.1), Self.read(String($0.2)))
        }
        #expect(try await client.post("/decisions", hidden).status == 303)
        let last = try await DeadLetterActionTable.newest(limit: 1, on: fixture.database).first
        #expect(last?.why.map { Array($0.utf8) } == Array(note.utf8))
    }

    /// The value of an attribute, as a browser reads it.
    private static func read(_ value: String) -> String {
        value.replacing(/&#x([0-9a-f]+);/) { match in
            UInt32(match.1, radix: 16).flatMap(Unicode.Scalar.init).map { "\($0)" } ?? "?"
        }.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
    }

    @Test func `a replay begins after its dry run, only as it was confirmed`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters(3))
        let client = try await fixture.client(as: "otto")
        let plan = try await client.get("/replays/new?class=forged")
        #expect(plan.status == 200)
        #expect(plan.body.contains("Send 2 records again"))
        var fields = [
            ("filter", "class=forged"), ("why", "a test"), ("rate", "100"), ("share", "10"), ("confirmed", "3"),
        ]
        #expect(try await client.submit("/replays", fields, from: "/help").status == 409)
        fields[4] = ("confirmed", "2")
        let begun = try await client.submit("/replays", fields, from: "/help")
        #expect(begun.status == 303)
        let page = try await client.get(begun.location ?? "")
        #expect(page.status == 200)
        #expect(page.body.contains("Begun at"))
        #expect(try await client.get("/replays").body.contains("a test"))
        #expect(try await client.get("/").body.contains("Hash chains"))
    }

    @Test func `each reason is explained`() {
        let page = String(decoding: HelpPage.page.document(nil, formToken: ""), as: UTF8.self)
        for reason in RefusalReason.allCases { #expect(page.contains("id=\"\(reason.rawValue)\"")) }
    }

    @Test(
        arguments: [(0, 4), (4, 4), (5, 8), (9, 20), (21, 40), (41, 80), (81, 200), (1_000_000, 2_000_000)]
            as [(Int64, Int64)]) func `the chart's scale is round and large enough`(largest: Int64, scale: Int64)
    { #expect(HourlyChart.roundScale(largest) == scale) }

    @Test(arguments: ["/a/b", "/", "/search?reason=x&after=1_2"]) func `a link is read back as it was written`(
        text: String
    ) { #expect(LocalLink(parsing: text)?.text == text) }
}
