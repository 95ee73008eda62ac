import TestSupport
import Testing

@testable import OpenSSL

/// Inverses modulo the order of P-256 (SEC 2, §2.4.2).
@Suite struct ScalarInverseTests {
    private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

    private static func inverse(_ number: String) throws -> String? {
        let modulus = try P256Case.bytes(hex: order)
        let inverses = ScalarInverse(modulus: modulus.span.bytes)
        let bytes = try P256Case.bytes(hex: number)
        // Twice, as the numbers inside are used again.
        let first = text(inverses.inverse(of: bytes.span.bytes))
        #expect(text(inverses.inverse(of: bytes.span.bytes)) == first)
        return first
    }

    private static func text(_ number: InlineArray<32, UInt8>?) -> String? {
        guard let number else { return nil }
        var text = ""
        for index in 0..<32 { text += hex(number[index]) }
        return text
    }

    private static func hex(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return text.count == 1 ? "0" + text : text
    }

    @Test func `each is 32 bytes, with leading zeros`() throws {
        let zeros = String(repeating: "0", count: 63)
        let half = "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a9"
        let last = String(Self.order.dropLast()) + "0"
        #expect(try Self.inverse(zeros + "1") == zeros + "1")
        #expect(try Self.inverse(zeros + "2") == half)
        #expect(try Self.inverse(half) == zeros + "2")
        #expect(try Self.inverse(last) == last)
    }

    @Test func `zero and the order itself have none`() throws {
        #expect(try Self.inverse(String(repeating: "0", count: 64)) == nil)
        #expect(try Self.inverse(Self.order) == nil)
    }

    @Test func `of any number, the inverse's inverse is the number`() throws {
        for number in 0..<100 {
            let digest = SHA256.digest(Array("\(number)".utf8)).bytes
            // Below the order, whose first bytes are all ones.
            let text = "7f" + digest.dropFirst().map(Self.hex).joined()
            let inverse = try #require(try Self.inverse(text))
            #expect(inverse != text)
            #expect(try Self.inverse(inverse) == text)
        }
    }
}
