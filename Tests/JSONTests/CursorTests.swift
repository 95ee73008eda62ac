import JSON
import Testing

@Suite struct CursorTests {
    private static func cursor(_ text: String) -> JSONCursor { JSONCursor(Array(text.utf8)) }

    /// A call that moves the cursor cannot stand in the macro.
    private func expect(_ holds: Bool, at location: SourceLocation = #_sourceLocation) {
        #expect(holds, sourceLocation: location)
    }

    @Test func `members are passed in the order of the text`() {
        var cursor = Self.cursor(#"{"a":"text","b":{"c":17},"d":true,"e":null,"f":false}"#)
        expect(cursor.passOpeningBrace())
        expect(!cursor.pass(name: "b"))
        expect(cursor.pass(name: "a"))
        expect(cursor.string() == "text")
        expect(cursor.pass(name: "b"))
        expect(cursor.passOpeningBrace())
        expect(cursor.pass(name: "c"))
        expect(cursor.int64() == 17)
        expect(cursor.passClosingBrace())
        expect(cursor.pass(name: "d"))
        expect(cursor.bool() == true)
        expect(!cursor.pass(name: "f"))
        expect(cursor.pass(name: "e"))
        expect(cursor.passNull())
        expect(cursor.pass(name: "f"))
        expect(cursor.bool() == false)
        expect(cursor.position == 52)
        expect(cursor.passClosingBrace())
        expect(cursor.position == 53)
        expect(!cursor.pass(name: "g"))
        expect(!cursor.passClosingBrace())
    }

    @Test(arguments: [
        "x", "12", "nul", "tru", "\"", "\"open", "\"a\\nb\"", "\"\\\"", "\"a\u{1}b\"", "\"zoë\"", "-1", "+1", "01",
        "00", " 1", "[1]", "'a'",
    ]) func `it stands still at what it does not know`(value: String) {
        var cursor = Self.cursor(#"{"a":"# + value)
        expect(cursor.passOpeningBrace())
        expect(cursor.pass(name: "a"))
        let isNumber = value == "12"
        expect(cursor.bool() == nil)
        expect(!cursor.passNull())
        expect(cursor.string() == nil)
        expect(cursor.withString { $0.count } == nil)
        expect(!cursor.passOpeningBrace())
        expect(cursor.int64() == (isNumber ? 12 : nil))
        expect(cursor.position == (isNumber ? 7 : 5))
    }

    @Test(arguments: [
        #"{,"a":1}"#, #"{"b":2"a":1}"#, #"{"a" :1}"#, #"{"a"}"#, #"{"ab":1}"#, #"{a:1}"#, #"{"A":1}"#, "{", "",
    ]) func `a name that does not stand there is not passed`(text: String) {
        var cursor = Self.cursor(text)
        _ = cursor.passOpeningBrace()
        expect(!cursor.pass(name: "a"))
    }

    @Test(arguments: [("0", 0), ("7", 7), ("999999999999999999", 999_999_999_999_999_999)])
    func `a whole number of up to 18 digits is read`(text: String, number: Int64) {
        var cursor = Self.cursor(text)
        expect(cursor.int64() == number)
        expect(cursor.position == text.utf8.count)
    }

    @Test func `of a longer number digits are left, behind which no member is passed`() {
        var cursor = Self.cursor(#"{"a":1234567890123456789,"b":1}"#)
        expect(cursor.passOpeningBrace())
        expect(cursor.pass(name: "a"))
        _ = cursor.int64()
        expect(!cursor.pass(name: "b"))
        expect(!cursor.passClosingBrace())
    }

    @Test func `nothing is read behind the text's end`() {
        let bytes = Array(#"{"a":"bc"}"#.utf8)
        for end in bytes.indices {
            var cursor = JSONCursor(Array(bytes[..<end]))
            let isPassed = cursor.passOpeningBrace() && cursor.pass(name: "a")
            expect((isPassed && cursor.string() == "bc") == (end == 9))
            expect(!cursor.passClosingBrace())
        }
    }
}
