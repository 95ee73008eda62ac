import Settings
import Testing

@Suite struct PrintableTests {
    @Test func `a line holds nothing that does more than be read`() {
        let hostile = "a\u{1B}[2J\r\n\u{202E}b\u{0}\u{9B}c"
        #expect(Printable.line(hostile) == #"a\u{1b}[2J\u{d}\u{a}\u{202e}b\u{0}\u{9b}c"#)
        #expect(Printable.line("Zoë 漢字 🙂") == "Zoë 漢字 🙂")
        #expect(Printable.line("abcdef", lengthMax: 3) == "abc…")
    }

    @Test func `a table escapes what strangers wrote`() {
        var table = TextTable([.init("user"), .init("count", .right)])
        table.add(["\u{1B}[31muser-1\n", "1"])
        #expect(
            table.lines() == [
                "user                   count",
                #"\u{1b}[31muser-1\u{a}      1"#,
            ]
        )
    }
}
