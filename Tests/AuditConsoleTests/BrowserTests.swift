import AppStore
import Foundation
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// Each page in a real Chromium, as people see it.
@Suite(.needsChromium, .timeLimit(.minutes(20))) struct BrowserTests {
    /// Letters of two days, of several reasons, one of them hostile.
    private static func letters() -> [SampleLetter] {
        let reasons: [RefusalReason] = [
            .signatureInvalid, .signatureInvalid, .rootUntrusted, .bundleMismatch, .payloadMalformed, .signatureInvalid,
            .claimMismatch, .certificateRevoked, .envelopeMalformed, .signatureInvalid,
        ]
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let plain = (0..<90).map { number in
            var letter = SampleLetter.plain(number + 10)
            letter.reason = reasons[number * number % reasons.count]
            letter.bundleID = number % 4 == 0 ? "com.example.other" : "com.example.app"
            letter.failedAt = Timestamp(milliseconds: now - Int64(number * number % 47) * 1_900_000 - 60_000)
            return letter
        }
        return [HostileLetterTests.letter()] + plain
    }

    static func pages(_ ids: [String]) -> [(name: String, path: String)] {
        [
            ("overview", "/"), ("overview-week", "/?hours=168"), ("groups", "/groups"), ("search", "/search"),
            ("search-filtered", "/search?reason=signature_invalid&since=7d"),
            ("search-none", "/search?q=nothing-like-this"), ("letter", "/letters/\(ids[1])"),
            ("letter-hostile", "/letters/\(ids[0])"), ("history", "/history"), ("history-none", "/history?who=nobody"),
            ("help", "/help"), ("not-found", "/nothing"), ("replays", "/replays"),
            ("replay-new", "/replays/new?class=conflict"), ("refunds", "/refunds"),
            ("refunds-none", "/refunds?outcome=waiting"), ("refund", "/refunds/refund-1"),
            ("refund-late", "/refunds/refund-3"), ("plans", "/plans"), ("plan-projected", "/plans/1"),
            ("plan-applied", "/plans/2"), ("plan", "/plans/3"), ("plan-hostile", "/plans/4"),
        ]
    }

    private let axe: String

    init() throws { axe = try Accessibility.axe() }

    /// The folder of a run's screenshots.
    private static let folder: URL? = {
        let folder = ProcessInfo.processInfo.environment["CONSOLE_SCREENSHOTS"]
        let url =
            folder.map { URL(filePath: $0) }
            ?? FileManager.default.temporaryDirectory.appending(path: "console-\(UUID())")
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }()

    @Test func `each page is sound at each width, in light and dark, for an operator`() async throws {
        let fixture = try await ConsoleFixture(letters: Self.letters())
        try await RefundSample.fill(fixture.database)
        try await PlanSample.fill(fixture.database)
        try await PlanSample.add(PlanSample.hostile, to: fixture.database)
        let browser = try await Browser()
        let base = "http://127.0.0.1:\(fixture.port)"
        try await browser.view(width: 1280, isDark: false)
        try await browser.open(base + "/sign-in")
        try await check(browser, "sign-in", isDark: false)
        try await browser.signIn(to: fixture, as: "otto")
        try await fixture.client(as: "otto").submit(
            "/letters/\(fixture.ids[2])/state", [("kind", "resolved"), ("note", "a test root of our own")],
            from: "/help")
        let replay = try await beginReplay(fixture)
        _ = try await browser.complaints()
        let group = try await fixture.client(as: "vera").get("/groups").body.firstMatch(
            of: /href="(\/groups\/[0-9a-f]+)"/)
        let others = [("replay", replay), ("group", String(try #require(group).1))]
        for (name, path) in Self.pages(fixture.ids) + others {
            try await browser.view(width: 1280, isDark: false)
            try await browser.open(base + path)
            for isDark in [false, true] { try await check(browser, name, isDark: isDark) }
            let complaints = try await browser.complaints()
            #expect(complaints.filter { !$0.contains("404") }.isEmpty, "\(name)")
        }
        await browser.close()
    }

    /// A replay that keeps running, because no worker reads here; returns its page.
    private func beginReplay(_ fixture: ConsoleFixture) async throws -> String {
        let client = try await fixture.client(as: "otto")
        let plan = try await client.get("/replays/new?class=corrupt").body
        let match = try #require(plan.firstMatch(of: /Send ([0-9,]+) records again/))
        let begun = try await client.submit(
            "/replays",
            [
                ("filter", "class=corrupt"), ("why", "the parser was mended"), ("rate", "100"), ("share", "10"),
                ("confirmed", String(match.1.replacing(",", with: ""))),
            ], from: "/help")
        return try #require(begun.location)
    }

    /// All checks of the open page, at three widths, with a screenshot of each.
    private func check(_ browser: Browser, _ name: String, isDark: Bool) async throws {
        for width in [390, 768, 1440, 2560] {
            let what: Comment = "\(name) at \(width), \(isDark ? "dark" : "light")"
            try await browser.view(width: width, isDark: isDark)
            #expect(try await browser.texts(Accessibility.overflow).isEmpty, what)
            let scheme = isDark ? "dark" : "light"
            let file = Self.folder?.appending(path: "\(name)-\(width)-\(scheme).png")
            if let file { try await browser.screenshot().write(to: file) }
        }
        // Folded parts are read as well.
        try await browser.run("document.querySelectorAll('details').forEach((part) => { part.open = true; });")
        for width in [390, 768, 1440] {
            try await browser.view(width: width, isDark: isDark)
            let violations = try await browser.texts(axe)
            #expect(violations.isEmpty, "\(name) at \(width), \(isDark ? "dark" : "light"): \(violations)")
        }
        let what: Comment = "\(name), \(isDark ? "dark" : "light")"
        #expect(try await browser.texts(Accessibility.structure).isEmpty, what)
        #expect(try await browser.texts(Accessibility.focus).isEmpty, what)
    }

    @Test(arguments: [
        ("vera", [], ["decision-kind", "why"]), ("ines", ["why"], ["decision-kind"]),
        ("otto", ["why", "decision-kind"], []),
    ]) func `each role sees the forms that it may use`(user: String, shown: [String], missing: [String]) async throws {
        let fixture = try await ConsoleFixture(letters: [.plain(1)])
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: user)
        try await browser.open("http://127.0.0.1:\(fixture.port)/letters/\(fixture.ids[0])")
        let ids = try await browser.texts("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
        #expect(Set(ids).isSuperset(of: shown))
        #expect(Set(ids).isDisjoint(with: missing))
        #expect(try await browser.complaints().isEmpty)
        await browser.close()
    }

    @Test func `an operator finds a letter, resolves it and signs out, by keyboard and mouse`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<3).map { .plain($0) })
        let browser = try await Browser()
        let base = "http://127.0.0.1:\(fixture.port)"
        try await browser.signIn(to: fixture, as: "otto")
        try await browser.press("gs")
        try await eventually { try await browser.url == base + "/search" }
        try await browser.press("j\u{E007}")
        try await eventually { try await browser.url.hasPrefix(base + "/letters/") }
        try await browser.type("dealt with", into: "#decision-note")
        try await browser.click("form[action$='/state'] button")
        try await eventually { try await browser.contents(of: ".done") == ["Recorded."] }
        try await browser.type("case 17", into: "#why")
        try await browser.click("form[action$='/reveal'] button")
        try await eventually { try await !browser.contents(of: ".note").isEmpty }
        try await browser.click("form[action='/sign-out'] button")
        try await eventually { try await browser.url.hasPrefix(base + "/sign-in") }
        let kinds = try await DeadLetterActionTable.newest(limit: 9, on: fixture.database)
        #expect(kinds.map(\.kind) == [.signedOut, .revealed, .resolved, .signedIn])
        #expect(try await browser.complaints().isEmpty)
        await browser.close()
    }

    @Test func `without JavaScript every step works`() async throws {
        let fixture = try await ConsoleFixture(letters: (0..<3).map { .plain($0) })
        let browser = try await Browser()
        let base = "http://127.0.0.1:\(fixture.port)"
        try await browser.setScripts(false)
        try await browser.open(base + "/search?reason=signature_invalid")
        try await browser.type("otto", into: "#name")
        try await browser.type(ConsoleFixture.password, into: "#password")
        try await browser.click("main button")
        try await eventually { try await browser.url == base + "/search?reason=signature_invalid" }
        try await browser.type("not ours", into: "#decision-note")
        try await browser.click("form[action='/decisions'] button")
        try await eventually { try await browser.url == base + "/decisions" }
        try await browser.click("form[action='/decisions'] button")
        try await eventually { try await browser.url.hasSuffix("&done=3") }
        await browser.close()
    }

    @Test func `nothing in a hostile letter runs`() async throws {
        let fixture = try await ConsoleFixture(letters: [HostileLetterTests.letter()])
        let browser = try await Browser()
        let base = "http://127.0.0.1:\(fixture.port)"
        try await browser.signIn(to: fixture, as: "otto")
        for (_, path) in Self.pages([fixture.ids[0], fixture.ids[0]]) {
            try await browser.open(base + path)
            let scripts = try await browser.texts("return [...document.scripts].map((script) => script.src)")
            #expect(scripts.count == 1)
            #expect(try await browser.texts("return [...document.images].map((i) => i.src)") == [])
        }
        // An alert would answer each of these with an error.
        #expect(try await browser.complaints().filter { !$0.contains("404") }.isEmpty)
        await browser.close()
    }
}
