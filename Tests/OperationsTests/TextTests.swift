import AppStore
import Commands
import Operations
import Testing

@Suite struct TextTests {
    @Test(arguments: [
        (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (-12_345, "-12,345"), (1_234_567, "1,234,567"),
    ]) func `numbers are grouped by thousands`(number: Int, text: String) { #expect(Quantity.grouped(number) == text) }

    @Test func `one and many have their own words`() {
        #expect(Quantity.counted(1, "body", "bodies") == "1 body")
        #expect(Quantity.counted(0, "body", "bodies") == "0 bodies")
        #expect(Quantity.counted(2_000, "record") == "2,000 records")
    }

    @Test(
        arguments: [
            (0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (3_659_000, "1 h"),
            (3_660_000, "1 h 1 min"), (180_000_000, "2 d 2 h"),
        ] as [(Int64, String)]) func `a span is written with its two greatest units`(milliseconds: Int64, text: String)
    { #expect(Quantity.span(milliseconds: milliseconds) == text) }

    @Test(arguments: [(12, "12 B"), (1_024, "1 KiB"), (5_600, "5.4 KiB"), (2_097_152, "2 MiB")])
    func `bytes are written in binary units`(count: Int, text: String) { #expect(Quantity.bytes(count) == text) }

    @Test func `dates are written in UTC`() {
        let instant = Timestamp(milliseconds: 1_767_225_600_123)
        #expect("\(instant.toSecond)" == "2026-01-01T00:00:00Z")
        #expect(Timestamp(milliseconds: 1_767_225_599_999).day == "2025-12-31")
    }

    @Test func `columns are aligned and lines end without blanks`() {
        var table = TextTable([.init("reason"), .init("count", .right), .init("")])
        table.add(["a", "1,000", ""])
        table.add(["signature", "7", "forged"])
        #expect(table.lines(indent: 2) == ["  reason     count", "  a          1,000", "  signature      7  forged"])
    }

    @Test func `a table without titles has rows alone`() {
        var table = TextTable([.init(""), .init("", .right)])
        table.add(["a", "1"])
        #expect(table.lines() == ["a  1"])
    }
}
