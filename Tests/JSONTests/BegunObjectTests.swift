import JSON
import Testing

/// An object whose end is not read is what it would be with a closing brace behind it.
struct BegunObjectTests {
    @Test(arguments: [
        #"{"a":1"#, #"{"a":1 "#, #"{"a":"x","b":null"#, #"{"a":{"b":[]},"c":[{}]"#, "{", " { ",
    ])
    func `its members are those of the whole object`(_ begun: String) throws {
        let rest = #","more":[1,2]}"#
        let document = try JSONDocument(
            parsingObjectBegunIn: Array((begun + rest).utf8),
            upTo: begun.utf8.count
        )
        let whole = try JSONDocument(parsing: Array((begun + "}").utf8))
        #expect(
            document.root.members.map { Array($0.key.rawBytes) + Array($0.value.rawBytes) }
                == whole.root.members.map { Array($0.key.rawBytes) + Array($0.value.rawBytes) }
        )
        #expect(document.root.count == whole.root.count && document.root.kind == .object)
        #expect(document.root["more"] == nil)
    }

    @Test(arguments: [
        "", " ", "[", "[1", "{\"a\":", "{\"a\":1,", "{\"a\":[1", "{\"a\":[1,", "{\"a\":\"x",
        "{\"a\":{\"b\":1", "{\"a\":1}", "null", "\"a\"", "{\"a\":1,\"a\":2", "{\"\u{1}\":1",
    ])
    func `what a closing brace does not complete is refused for the same reason`(
        _ begun: String
    ) {
        #expect(code(of: begun, isBegun: true) == code(of: begun + "}", isBegun: false))
        #expect(code(of: begun, isBegun: true) != nil)
    }

    @Test(arguments: ["{\"a\"", "{\"a\":tru", "{\"a\":1.", "{\"a\":-", "{\"a\":\"\\"])
    func `what ends within a key or a value is refused`(_ begun: String) {
        #expect(code(of: begun, isBegun: true) != nil)
    }

    private func code(of text: String, isBegun: Bool) -> JSONError.Code? {
        let bytes = Array(text.utf8)
        do throws(JSONError) {
            _ =
                try isBegun
                ? JSONDocument(parsingObjectBegunIn: bytes, upTo: bytes.count)
                : JSONDocument(parsing: bytes)
            return nil
        } catch {
            return error.code
        }
    }
}
