import JSON
import Testing

/// The members before a named one are those of an object that ends there.
struct MembersBeforeTests {
    private static func members(_ text: String) throws -> JSONDocument {
        try JSONDocument(parsing: Array(text.utf8), upToMember: "rest")
    }

    @Test(arguments: [
        #"{"a":1"#, #"{"a":1 "#, #" {"a":"x","b":null"#, #"{"a":{"b":[]},"c":[{}]"#, #"{"a":",\"rest\":","b":2"#,
        #"{"a":{"b":1,"rest":2},"c":[1,"rest"]"#,
    ]) func `its members are those of the whole object`(_ begun: String) throws {
        // The text behind them is not read, and need not be JSON.
        let document = try Self.members(begun + #","rest":[1,"#)
        let whole = try JSONDocument(parsing: Array((begun + "}").utf8))
        #expect(
            document.root.members.map { Array($0.key.rawBytes) + Array($0.value.rawBytes) }
                == whole.root.members.map { Array($0.key.rawBytes) + Array($0.value.rawBytes) })
        #expect(document.root.count == whole.root.count && document.root.kind == .object)
        #expect(document.root.range.upperBound == begun.utf8.count)
        #expect(document.root["rest"] == nil)
    }

    @Test(arguments: [
        #"{"a":1}"#, #"{"a":1,"res":2}"#, #"{"a":1,"rests":2}"#, #"{"a":1,"Rest":2}"#, #"{"a":1,"rest" :2}"#,
        #"{"a":1, "rest":2}"#, #"{"rest":2}"#, #"["a","rest"]"#, #"{"a":1,"\u0072est":2}"#, #"{"a":{"b":1,"rest":2}}"#,
        "[]", "null", #""rest""#,
    ]) func `without that member, as it is written, everything is read`(_ text: String) throws {
        let document = try Self.members(text)
        #expect(document.root.rawBytes.elementsEqual(text.utf8))
    }

    @Test(arguments: [
        "", " ", "[", "{", "{\"a\":", "{\"a\":1,", "{\"a\":[1", "{\"a\":\"x", "{\"a\":tru",
        "{\"a\":1,\"a\":2,\"rest\":3}", "{\"\u{1}\":1,\"rest\":2}", "{\"a\":1}}", "{\"a\":1,\"rest\"",
        "{\"a\":1,\"rest", "{\"a\":[1,\"rest\":2]}", "[1,\"rest\":2]", "{\"a\":{\"b\":1,\"rest\":2",
    ]) func `faults before it are those of a whole document`(_ text: String) {
        #expect(Self.code { try Self.members(text) } != nil)
        #expect(Self.code { try Self.members(text) } == Self.code { try JSONDocument(parsing: Array(text.utf8)) })
    }

    private static func code(_ parse: () throws -> JSONDocument) -> JSONError.Code? {
        do {
            _ = try parse()
            return nil
        } catch { return (error as? JSONError)?.code }
    }
}
