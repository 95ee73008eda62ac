import JSON
import Testing

struct JSONWriterTests {
    static func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `commas and colons are written automatically`() {
        let text = Self.text { writer in
            writer.object {
                $0.key("a")
                $0.array {
                    $0.int(1)
                    $0.int(Int64.min)
                    $0.object { _ in }
                    $0.array { _ in }
                    $0.null()
                }
                $0.key("bc")
                $0.bool(true)
                $0.key("raw")
                $0.raw(Array(#"{"z" : 1e400}"#.utf8)[...])
                $0.key("d")
                $0.double(0.5)
            }
        }
        #expect(text == #"{"a":[1,-9223372036854775808,{},[],null],"bc":true,"# + #""raw":{"z" : 1e400},"d":0.5}"#)
    }

    @Test func `containers end as they began, however deep they are`() throws {
        let innermost = "[1,{}],[2]"
        let text = (0..<200).reduce(innermost) { text, level in
            level.isMultiple(of: 3) ? #"[\#(text),[]]"# : #"{"a":[\#(text)],"b":0}"#
        }
        let value = try JSONDocument(parsing: Array(text.utf8), limits: .accepted).root
        #expect(Self.text { $0.value(JSONContent(value)) } == text)
    }

    @Test func `text is escaped where it must be`() {
        let text = Self.text { $0.string("a\"b\\c\n\r\t\u{0}\u{1F}é😀/") }
        #expect(text == #""a\"b\\c\n\r\t\u0000\u001fé😀/""#)
    }

    @Test func `what a terminal would obey is escaped`() {
        let text = Self.text { $0.string("\u{1B}[2J \u{7F} \u{80}\u{9B}31m\u{9F} \u{A0}é\u{C2}") }
        #expect(text == "\"\\u001b[2J \\u007f \\u0080\\u009b31m\\u009f \u{A0}é\u{C2}\"")
    }

    @Test func `bytes that are no UTF-8 never reach the text`() {
        #expect(Self.text { $0.string(utf8: [0x61, 0xC3, 0xA9]) } == "\"aé\"")
        #expect(Self.text { $0.string(utf8: [0x61, 0xFF, 0x62]) } == "\"a\u{FFFD}b\"")
        #expect(Self.text { $0.string(utf8: [0xED, 0xA0, 0x80]) }.contains("\u{FFFD}"))
    }
}
