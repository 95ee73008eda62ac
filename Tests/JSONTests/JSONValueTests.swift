import Testing

@testable import JSON

struct JSONValueTests {
    static func parse(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    @Test func `members are found by key, in any order and after nested values`() throws {
        let root = try Self.parse(#" {"a":{"z":[1,{"b":2}]}, "b" : true ,"c":null,"\u0064":"x"} "#)
        #expect(root.kind == .object && root.count == 4)
        #expect(root["a"]?["z"]?.elements.map(\.range.count) == [1, 7])
        #expect(root["b"]?.bool == true)
        #expect(root["c"]?.isNull == true)
        #expect(root["d"]?.isString("x") == true)
        #expect(root["z"] == nil && root["a"]?["b"] == nil && root["b"]?["b"] == nil)
        let key = "d"
        #expect(root[key]?.string == "x")
        #expect(root.members.map { $0.key.string ?? "" } == ["a", "b", "c", "d"])
    }

    @Test func `a value's span is exactly its text`() throws {
        let root = try Self.parse("[ 1.50 , \"a b\" ,{ \"k\" : [ ] } ]")
        let texts = root.elements.map { String(decoding: $0.rawBytes, as: UTF8.self) }
        #expect(texts == ["1.50", "\"a b\"", "{ \"k\" : [ ] }"])
    }

    @Test(arguments: [
        (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\ud83d\ude00 é €""#, "😀 é €"), (#""0123456701234567é01234567""#, "0123456701234567é01234567"),
    ]) func `escapes are replaced`(text: String, expected: String) throws {
        let value = try Self.parse(text)
        #expect(value.string == expected)
        #expect(value.stringBytes == Array(expected.utf8))
        #expect(value.isString(expected))
        #expect((value.plainStringRange == nil) == text.contains("\\"))
    }

    @Test func `only strings have text`() throws {
        for text in ["1", "true", "null", "[]", "{}"] {
            let value = try Self.parse(text)
            #expect(value.string == nil && value.stringBytes == nil)
            #expect(value.plainStringRange == nil && !value.isString(""))
        }
    }

    @Test(
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("1", 1, 1), ("1.0", 1, 1), ("1e3", 1000, 1000), ("1.5", nil, 1),
            ("-1.5", nil, -2), ("0.5", nil, 0), ("-0.5", nil, -1), ("12.50e1", 125, 125), ("125e-1", nil, 12),
            ("1200e-2", 12, 12), ("0e999999999999", 0, 0), ("0.0000", 0, 0), ("-0.000e-5", 0, 0), ("100e-400", nil, 0),
            ("-1e-400", nil, -1), ("1e999999999999999999999", nil, nil), ("1697679936049.7297", nil, 1_697_679_936_049),
            ("-62135769600000", -62_135_769_600_000, -62_135_769_600_000),
            ("9223372036854775807", Int64.max, Int64.max), ("9223372036854775808", nil, nil),
            ("9223372036854775807.9", nil, Int64.max), ("-9223372036854775808.0", .min, .min),
            ("-9223372036854775808.1", nil, nil), ("18446744073709551616", nil, nil),
            ("99999999999999999999", nil, nil), ("0.1e19", 1_000_000_000_000_000_000, nil),
            ("9.223372036854775807e18", Int64.max, Int64.max), ("1e19", nil, nil),
            ("100000000000000000000000000000e-20", 1_000_000_000, 1_000_000_000),
            ("123456789012345678901234567890e-20", nil, 1_234_567_890),
        ] as [(String, Int64?, Int64?)]) func `integers are exact, or rounded down where that is asked for`(
            text: String, exact: Int64?, roundedDown: Int64?
        ) throws
    {
        let value = try Self.parse(text)
        #expect(value.int64 == exact)
        #expect(value.int64RoundedDown == roundedDown ?? exact)
    }

    @Test func `numbers beyond every machine type are carried as text`() throws {
        let value = try Self.parse("1e200000")
        #expect(value.kind == .number && value.int64 == nil && value.double == nil)
        #expect(String(decoding: value.rawBytes, as: UTF8.self) == "1e200000")
        #expect(try Self.parse("2.5").double == 2.5)
        #expect(try Self.parse("1e-999").double == 0)
        #expect(try Self.parse("\"1\"").int64 == nil)
    }

    @Test(arguments: [
        ("", JSONError.Code.unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("{", .unexpectedEnd, 1),
        (#"{"a""#, .unexpectedEnd, 4), (#"{"a":}"#, .unexpectedByte, 5), ("tru", .unexpectedEnd, 3),
        (#"{"a":1,}"#, .unexpectedByte, 7), ("[1,]", .unexpectedByte, 3), ("[1}", .unexpectedByte, 2),
        ("1 2", .trailingBytes, 2), ("01", .trailingBytes, 1), ("-", .unexpectedEnd, 1), ("-a", .numberMalformed, 1),
        ("1.e", .numberMalformed, 2), (#""\q""#, .escapeMalformed, 1), (#""\u12G4""#, .escapeMalformed, 1),
        ("\"a\nb\"", .controlCharacter, 2), (#""ab\u0000""#, .nulInString, 3), (#""\ud800x""#, .loneSurrogate, 1),
        (#""\udc00\ud800""#, .loneSurrogate, 1), (#"["a"#, .unexpectedEnd, 3), (#""\"#, .unexpectedEnd, 2),
        ("\u{FEFF}{}", .byteOrderMark, 0),
    ]) func `a fault is reported with its position`(text: String, code: JSONError.Code, offset: Int) {
        #expect(throws: JSONError(code: code, offset: offset)) { try Self.parse(text) }
    }
}
