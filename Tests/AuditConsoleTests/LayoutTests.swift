import AppStore
import Foundation
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// The layout of pages at each width, and the additions of their script, in a real Chromium.
@Suite(.needsChromium, .timeLimit(.minutes(10))) struct LayoutTests {
    private static func fixture() async throws -> ConsoleFixture {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return try await ConsoleFixture(
            letters: (0..<4).map { number in
                var letter = SampleLetter.plain(number)
                letter.failedAt = Timestamp(milliseconds: now - Int64(number) * 10_800_000 - 300_000)
                return letter
            })
    }

    private static let rowsOfCards = """
        const tops = [...document.querySelectorAll(".figures > *")]
          .map((card) => Math.round(card.getBoundingClientRect().top));
        return [...new Set(tops)].map((top) => `${tops.filter((other) => other === top).length}`);
        """

    @Test(arguments: [(390, ["2", "2", "2"]), (768, ["3", "3"]), (1024, ["3", "3"]), (1440, ["6"]), (2560, ["6"])])
    func `six cards are in even rows`(width: Int, rows: [String]) async throws {
        let fixture = try await Self.fixture()
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: "vera")
        try await browser.view(width: width, isDark: false)
        #expect(try await browser.texts(Self.rowsOfCards) == rows)
        await browser.close()
    }

    @Test func `a narrow page shows each row's reason first, and the chart's whole day`() async throws {
        let fixture = try await Self.fixture()
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: "vera")
        try await browser.view(width: 390, isDark: false)
        for path in ["/", "/groups", "/search"] {
            try await browser.open("http://127.0.0.1:\(fixture.port)\(path)")
            let first = try await browser.contents(of: "main tbody tr > :first-child code")
            #expect(first.count > 0)
            #expect(first.allSatisfy { $0 == "signature_invalid" }, "\(path)")
        }
        try await browser.open("http://127.0.0.1:\(fixture.port)/")
        // Not one of the bars or hours has to be scrolled for, and midnight has its day.
        let hidden = """
            return [...document.querySelectorAll(".chart rect, .chart text")].filter((part) => {
              const box = part.getBoundingClientRect();
              return box.left < 0 || box.right > document.documentElement.clientWidth;
            }).map((part) => part.outerHTML);
            """
        #expect(try await browser.texts(hidden) == [])
        #expect(try await browser.contents(of: ".chart rect").count == 4)
        let days = try await browser.contents(of: ".chart .day")
        #expect(days.count == 1)
        #expect(days.first?.contains(/^\d\d-\d\d$/) == true)
        await browser.close()
    }

    @Test func `times are relative, with the exact one on hover and by a key`() async throws {
        let fixture = try await Self.fixture()
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: "vera")
        try await browser.open("http://127.0.0.1:\(fixture.port)/search")
        let shown = ["5 min ago", "3 h ago", "6 h ago", "9 h ago"]
        try await eventually { try await browser.contents(of: "td time") == shown }
        let exact = try await browser.texts(
            "return [...document.querySelectorAll('td time')].map((time) => time.title)")
        #expect(exact.allSatisfy { $0.contains(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/) })
        try await browser.press("t")
        #expect(try await browser.contents(of: "td time") == exact)
        try await browser.press("t")
        #expect(try await browser.contents(of: "td time") == shown)
        // The facts of a letter state both.
        try await browser.open("http://127.0.0.1:\(fixture.port)/letters/\(fixture.ids[0])")
        let failed = try await browser.contents(of: "dl.facts time").first
        #expect(failed == "\(exact[0]), 5 min ago")
        #expect(try await browser.complaints().isEmpty)
        await browser.close()
    }

    @Test func `the line of a link lies below its underscores`() async throws {
        let fixture = try await Self.fixture()
        let browser = try await Browser()
        try await browser.signIn(to: fixture, as: "vera")
        try await browser.open("http://127.0.0.1:\(fixture.port)/search")
        // An underscore ends about 0.15 em below the baseline.
        let near = """
            return [...document.querySelectorAll("main a")].filter((link) => {
              const style = getComputedStyle(link);
              const offset = parseFloat(style.textUnderlineOffset);
              return style.textDecorationLine === "underline"
                && !(offset >= 0.25 * parseFloat(style.fontSize));
            }).map((link) => link.outerHTML);
            """
        #expect(try await browser.texts(near) == [])
        await browser.close()
    }
}
