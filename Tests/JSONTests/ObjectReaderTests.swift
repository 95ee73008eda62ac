import JSON
import Testing

/// All ways to ask an object give the same answer.
struct ObjectReaderTests {
    /// Keys of equal lengths and initials, which no filter can tell apart, and others.
    private static let names: [StaticString] = [
        "", "a", "b", "ab", "ac", "ba", "id", "transactionID", "transactionIX", "type", "tyre", "a\"b", "ä",
    ]

    private static func document(of names: [StaticString]) throws -> JSONDocument {
        var writer = JSONWriter()
        writer.object { writer in
            for (value, name) in names.enumerated() {
                writer.key(String(describing: name))
                writer.int(value)
            }
        }
        return try JSONDocument(parsing: writer.bytes)
    }

    @Test func `members are found in any order, and no others`() throws {
        for _ in 0..<500 {
            let present = Self.names.filter { _ in Bool.random() }.shuffled()
            let document = try Self.document(of: present)
            var reader = try #require(JSONObjectReader(document.root))
            for name in (Self.names + Self.names).shuffled() {
                let found = reader.index(of: name).map { reader.value(at: $0).rawBytes }
                #expect(found == document.root[name]?.rawBytes, "\(name) of \(present)")
            }
        }
    }

    @Test func `an escaped name is the one that it means`() throws {
        let document = try JSONDocument(parsing: Array(#"{"x":0,"\u0061b":1}"#.utf8))
        var reader = try #require(JSONObjectReader(document.root))
        let (found, missing) = (reader.index(of: "ab"), reader.index(of: "cd"))
        #expect(found.flatMap { reader.int64(at: $0) } == 1)
        #expect(missing == nil)
    }

    @Test func `a member converts as its value does`() throws {
        let text = #"{"s":"a\n","p":"plain","n":12,"f":1.5,"b":true,"z":null,"o":{}}"#
        let document = try JSONDocument(parsing: Array(text.utf8))
        var reader = try #require(JSONObjectReader(document.root))
        for name in ["s", "p", "n", "f", "b", "z", "o"] as [StaticString] {
            let found = reader.index(of: name)
            let index = try #require(found)
            let value = try #require(document.root[name])
            #expect(reader.kind(at: index) == value.kind)
            #expect(reader.isNull(at: index) == value.isNull)
            #expect(reader.string(at: index) == value.string)
            #expect(reader.int64(at: index) == value.int64)
            #expect(reader.bool(at: index) == value.bool)
            let plain = reader.withPlainString(at: index) { $0.count }
            #expect(plain == value.plainStringRange?.count)
        }
        #expect(JSONObjectReader(try #require(document.root["s"])) == nil)
    }
}
