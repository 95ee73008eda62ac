import Settings
import Testing

@Suite struct PrintableTests {
    @Test func `a line holds nothing that does more than be read`() {
        let hostile = "a\u{1B}[2J\r\n\u{202E}b\u{0}\u{9B}c"
        #expect(Printable.line(hostile) == #"a\u{1b}[2J\u{d}\u{a}\u{202e}b\u{0}\u{9b}c"#)
        #expect(Printable.line("Zoë 漢字 🙂") == "Zoë 漢字 🙂")
        #expect(Printable.line("abcdef", lengthMax: 3) == "abc…")
    }

    @Test(
        arguments: [
            ("{\n\t\"a\": 1\r\n}", true), ("", true), ("Zoë 🙂", true),
            // Written over what stands before it.
            ("forged\rgenuine", false), ("\r\r", false), ("a\r\r\n", false), ("a\r", true),
            ("\u{1B}]0;title\u{7}", false), ("\u{202E}", false), ("a\u{0}", false),
        ]
    )
    func `text is what a terminal shows as it stands`(text: String, isShown: Bool) {
        #expect((Printable.text(Array(text.utf8)) == text) == isShown)
    }

    @Test func `bytes that are not UTF-8 are no text`() {
        #expect(Printable.text([0xC3, 0x28]) == nil)
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
