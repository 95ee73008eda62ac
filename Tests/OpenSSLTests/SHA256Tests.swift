import OpenSSL
import Testing

struct SHA256Tests {
    /// FIPS 180-4's own example.
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test func `one call digests`() {
        #expect(SHA256.digest(Array("abc".utf8)).hex == Self.abc)
        #expect(SHA256.digest(Array("xabcx".utf8)[1...3]).hex == Self.abc)
        #expect(SHA256.digest([]).hex.hasPrefix("e3b0c44298fc1c14"))
    }

    @Test func `pieces digest as the whole does, time after time`() {
        let hasher = SHA256Hasher()
        for _ in 0..<3 {
            hasher.update([UInt8(ascii: "a")])
            hasher.update([])
            hasher.update(Array("bc".utf8)[...])
            #expect(hasher.finish().hex == Self.abc)
        }
    }

    @Test func `a beginning that was digested once stands before whatever follows`() {
        for count in [0, 1, 63, 64, 65, 4_000] {
            let beginning = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let prefix = SHA256Prefix(beginning)
            for text in ["", "abc", String(repeating: "x", count: 1_500), ""] {
                let rest = Array(text.utf8)
                #expect(prefix.digest(with: rest.span) == SHA256.digest(beginning + rest))
            }
        }
        #expect(SHA256Prefix([]).digest(with: Array("abc".utf8).span).hex == Self.abc)
    }

    @Test func `a digest survives its hexadecimal and its bytes`() throws {
        let digest = SHA256.digest(Array("abc".utf8))
        #expect(SHA256Digest(hex: digest.hex) == digest)
        #expect(SHA256Digest(hex: digest.hex.uppercased()) == digest)
        #expect(SHA256Digest(digest.bytes) == digest)
        #expect(digest.bytes.first == 0xBA && digest[31] == 0xAD)
        #expect(SHA256Digest(hex: String(digest.hex.dropLast())) == nil)
        #expect(SHA256Digest(hex: String(repeating: "g", count: 64)) == nil)
        #expect(SHA256Digest([1, 2, 3]) == nil)
    }

    /// The digits are read eight at a time: no byte may pass for one by its neighbours or its bits.
    @Test func `exactly the hexadecimal digits are read, at each position`() {
        let digits = Array("0123456789abcdefABCDEF".utf8)
        for position in 0..<64 {
            for byte in UInt8.min...UInt8.max {
                var text = Array(repeating: UInt8(ascii: "7"), count: 64)
                text[position] = byte
                let digest = SHA256Digest(hex: text.span)
                guard digits.contains(byte) else {
                    #expect(digest == nil)
                    continue
                }
                let spelt = String(decoding: text, as: UTF8.self)
                #expect(digest?.hex == spelt.lowercased())
                let value = UInt8(spelt.dropFirst(position & ~1).prefix(2), radix: 16)
                #expect(digest?.bytes[position / 2] == value)
            }
        }
    }

    @Test func `digests compare as their bytes do`() throws {
        let digests = (0..<100).map { SHA256.digest([UInt8($0)]) }
        let byBytes = digests.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        #expect(digests.sorted() == byBytes)
    }
}
