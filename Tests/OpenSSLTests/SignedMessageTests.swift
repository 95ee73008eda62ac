import OpenSSL
import Simulation
import Testing

/// The form that a PKCS #7 message may have before OpenSSL parses it.
struct SignedMessageTests {
    private static func outline(_ ber: [UInt8]) -> Result<MessageOutline, SignedMessageError> {
        Result { () throws(SignedMessageError) in
            try MessageOutline(ber: ber, certificateCounts: [0, 3], certificateBytesMax: 100)
        }
    }

    private static func error(_ ber: [UInt8]) -> SignedMessageError? {
        switch outline(ber) {
        case .success: nil
        case .failure(let error): error
        }
    }

    /// ContentInfo around the part of SignedData after the content.
    private static func message(_ rest: [[UInt8]]) -> [UInt8] {
        let signedData = DER.sequence([DER.integer(1), DER.set([]), DER.sequence([])] + rest)
        return DER.sequence([DER.objectIdentifier("1.2.840.113549.1.7.2"), DER.element(0xA0, signedData)])
    }

    @Test func `certificates are counted and measured before anything is parsed`() throws {
        let small = DER.sequence([DER.octetString([1, 2])])
        let large = DER.sequence([DER.octetString([UInt8](repeating: 7, count: 120))])
        let three = Self.message([DER.element(0xA0, small + small + small)])
        #expect(try Self.outline(three).get().certificates == [small, small, small])
        #expect(Self.error(Self.message([])) == nil)
        let four = Self.message([DER.element(0xA0, small + small + small + small)])
        #expect(Self.error(four) == .certificateCount(4))
        let one = Self.message([DER.element(0xA0, large + small + small)])
        #expect(Self.error(one) == .certificateTooLarge)
        #expect(Self.error(Self.message([DER.element(0xA0, [0x02, 1, 1])])) == .notBER)
    }

    @Test func `certificates of indefinite length are found whole`() throws {
        let piece: [UInt8] = [0x30, 0x80, 0x30, 0x80, 0x02, 0x01, 0x07, 0, 0, 0, 0]
        let ber = Self.message([[0xA0, 0x80] + piece + piece + piece + [0, 0]])
        #expect(try Self.outline(ber).get().certificates == [piece, piece, piece])
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x02, 0x05], [0x31, 0x00], [0x04, 0x00], [0x30, 0x80], [0x30, 0x80, 0x00],
            [0x30, 0x80, 0x00, 0x01, 0x00], [0x30, 0x02, 0x00, 0x00], [0x30, 0x02, 0x1F, 0x00],
            [0x30, 0x02, 0x04, 0x80],
            // A length of five bytes, a constructed text, and other things in a string's pieces.
            [0x30, 0x85, 0, 0, 0, 0, 0], [0x30, 0x02, 0x2C, 0x00], [0x30, 0x04, 0x24, 0x02, 0x02, 0],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
        ] as [[UInt8]]) func `bytes that are not BER of this form are refused`(ber: [UInt8])
    { #expect(Self.error(ber) == .notBER) }

    @Test func `depth and number of elements are bounded`() {
        let deep = (0..<23).reduce([UInt8]()) { inner, _ in DER.sequence([inner]) }
        #expect(Self.error(DER.sequence([deep])) == nil)
        #expect(Self.error(DER.sequence([DER.sequence([deep])])) == .notBER)
        let indefinite = [UInt8](repeating: 0, count: 200_000).enumerated().map { index, _ in
            index % 2 == 0 ? UInt8(0x30) : 0x80
        }
        #expect(Self.error(indefinite) == .notBER)
        let many = [[UInt8]](repeating: [0x05, 0x00], count: 4_097)
        #expect(Self.error(DER.sequence(many)) == .notBER)
        #expect(Self.error(DER.sequence(Array(many.dropFirst()))) == nil)
    }

    @Test func `BER that is no SignedData has an error of its own`() throws {
        for ber in [DER.sequence([]), Self.message([]), DER.sequence([DER.objectIdentifier("1.2.840.113549.1.7.1")])] {
            let outline = try Self.outline(ber).get()
            #expect(throws: SignedMessageError.self) { try SignedMessage(outline) }
        }
    }

    @Test func `elements are read within their bounds`() {
        let bytes: [UInt8] = [0x02, 1, 5, 0x02, 2, 0xFF, 0x7F, 0x04, 3, 1, 2, 3]
        var reader = ASN1Reader(bytes, bytes.indices)
        #expect(reader.nextInt64() == 5 && reader.nextInt64() == -129)
        #expect(reader.next(.octetString) == 9..<12 && reader.isAtEnd && reader.next() == nil)
        for bytes: [UInt8] in [
            [0x02], [0x02, 2, 1], [0x30, 0x80, 0, 0], [0x04, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x1F, 0x81], [0x02, 0],
            [0x02, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0x24, 0], [0x82, 1, 1],
        ] {
            var reader = ASN1Reader(bytes, bytes.indices)
            #expect(reader.nextInt64() == nil)
            var strings = ASN1Reader(bytes, bytes.indices)
            #expect(strings.next(.octetString) == nil)
        }
        let inner = ASN1Reader([0x04, 2, 1, 2], 0..<3)
        var cut = inner
        #expect(cut.next() == nil)
    }
}
