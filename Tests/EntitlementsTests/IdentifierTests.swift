import AppStore
import Testing

/// Identifiers are their bytes.
@Suite struct IdentifierTests {
    private static let composed: Identifier = "\u{e9}"
    private static let decomposed: Identifier = "e\u{301}"

    @Test func `canonically equivalent identifiers are two`() {
        #expect(Self.composed.text == Self.decomposed.text)
        #expect(Self.composed != Self.decomposed)
        #expect(Set([Self.composed, Self.decomposed, "\u{e9}"]).count == 2)
        #expect([Self.composed: 1, Self.decomposed: 2][Self.decomposed] == 2)
    }

    /// Texts on both sides of the length at which an identifier is stored in another way, and of each word of it.
    @Test(
        arguments: [
            ("", ""), ("a", "a"), ("2000000123456789", "2000000123456789"), ("a", "b"), ("a", "ab"),
            ("2000000123456789", "2000000123456780"), ("2000000123456789", "200000012345678"), ("Z", "a"),
            ("\u{ff5e}", "\u{1f98a}"), ("e\u{301}", "\u{e9}"), ("a\0", "a"), ("", "\0"), ("0", "00"),
            ("0002000000123456", "2000000123456"), ("1234567890123456789012", "1234567890123456789013"),
            ("1234567890123456789012", "12345678901234567890123"),
            ("12345678901234567890123", "12345678901234567890124"), ("12345678901234567890", "12345678901234567891"),
            ("12345678", "12345679"),
        ], ["", String(repeating: "a", count: 23)]) func `identifiers compare, sort and hash as their UTF-8`(
            texts: (left: String, right: String), prefix: String
        )
    {
        let (left, right) = (prefix + texts.left, prefix + texts.right)
        let (first, second) = (Identifier(left), Identifier(right))
        let bytes = (Array(left.utf8), Array(right.utf8))
        #expect((first == second) == (bytes.0 == bytes.1))
        #expect((first < second) == bytes.0.lexicographicallyPrecedes(bytes.1))
        #expect((second < first) == bytes.1.lexicographicallyPrecedes(bytes.0))
        #expect(first != second || first.hashValue == second.hashValue)
        for (identifier, bytes) in [(first, bytes.0), (second, bytes.1)] {
            #expect(Array(identifier.text.utf8) == bytes)
            #expect(identifier.byteCount == bytes.count)
            #expect(Identifier(utf8: bytes.span) == identifier)
        }
    }

    @Test(arguments: ["a", "zoë 🦊", "e\u{301}", "a b", "\u{301}u", String(repeating: "a", count: 255)])
    func `a text without look-alikes may be entered`(text: String) { #expect(Identifier(entering: text)?.text == text) }

    @Test(arguments: [
        "", " a", "a ", "\u{a0}a", "a\u{3000}", "a\u{2028}", "a\n", "\0", "a\u{85}b", "a\u{202e}b", "\u{2066}a",
        "a\u{200f}", "a\u{61c}b", String(repeating: "a", count: 256), String(repeating: "é", count: 128),
    ]) func `a text that looks like another, or is too long, may not enter`(text: String) {
        #expect(Identifier(entering: text) == nil)
    }
}
