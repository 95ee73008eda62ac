import Commands
import Settings
import Testing

@Suite struct PrintableTests {
    @Test func `a line holds nothing that does more than be read`() {
        let hostile = "a\u{1B}[2J\r\n\u{202E}b\u{0}\u{9B}c"
        #expect(Printable.line(hostile) == #"a\u{1b}[2J\u{d}\u{a}\u{202e}b\u{0}\u{9b}c"#)
        #expect(Printable.line("Zoë 漢字 🙂") == "Zoë 漢字 🙂")
        #expect(Printable.line("abcdef", lengthMax: 3) == "abc…")
    }

    /// Three texts and a number; the second text is the least important.
    private static func table() -> TextTable {
        var table = TextTable([.init("id"), .init("source", rank: 2), .init("count", .right, rank: 1), .init("reason")])
        table.add(["a1", "topic-of-a-long-name", "12345", "signature_invalid"])
        table.add(["b2", "t", "1", "漢字漢字漢字漢字漢字"], isBad: true)
        return table
    }

    @Test(arguments: [
        (53, [], "a1  topic-of-a-long-name  12345  signature_invalid"),
        (50, ["source"], "a1  12345  signature_invalid"), (31, ["source"], "a1  12345  signature_invalid"),
        (25, ["source", "count"], "a1  signature_invalid"), (15, ["source", "count"], "a1  signature_…"),
        (5, ["source", "count"], "a1  …"),
    ]) func `a table leaves out the least important columns, then cuts the widest text`(
        width: Int, hidden: [String], first: String
    ) {
        let fitted = Self.table().fitted(to: width)
        #expect(fitted.hidden == hidden)
        #expect(fitted.lines[1].text == first)
        for line in fitted.lines { #expect(Self.columns(line.text) <= width, "\(line.text)") }
        #expect(fitted.lines.map(\.isBad) == [false, false, true])
    }

    /// The columns of this suite's texts, in which Chinese characters take two.
    private static func columns(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x4E00 ? 2 : 1) }
    }

    @Test func `columns behind wide characters and marks stay in line`() {
        var table = TextTable([.init("user"), .init("count", .right)])
        table.add(["漢字", "1"])
        table.add(["e\u{301}e\u{301}", "2"])
        table.add(["🙂", "3"])
        #expect(table.lines() == ["user  count", "漢字      1", "e\u{301}e\u{301}        2", "🙂        3"])
    }

    @Test func `a table escapes what strangers wrote`() {
        var table = TextTable([.init("user"), .init("count", .right)])
        table.add(["\u{1B}[31muser-1\n", "1"])
        #expect(table.lines() == ["user                   count", #"\u{1b}[31muser-1\u{a}      1"#])
    }
}
