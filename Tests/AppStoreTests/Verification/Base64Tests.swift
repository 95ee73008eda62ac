import Foundation
import Testing
import Simulation

@testable import AppStore

struct Base64Tests {
    static func decode(_ text: String, _ alphabet: Base64) -> [UInt8]? {
        let bytes = Array(text.utf8)
        return alphabet.decode(bytes.span)
    }

    @Test func `an encoded text decodes to its bytes`() {
        var generator = SystemRandomNumberGenerator()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let url = Base64Text.url(bytes)
            let standard = Base64Text.standard(bytes)
            #expect(Base64.url.decode(url.span) == bytes)
            #expect(Base64.standard.decode(standard.span) == bytes)
            #expect(standard == Array(Data(bytes).base64EncodedString().utf8))
        }
    }

    @Test(arguments: [
        "A", "AAAAA", "AA==", "AAA=", "AB", "AAB", "A A", "AAAA\n", " AAAA", "AA+A", "AA/A", "AA.A", "AAéA", "AA\u{0}A",
    ]) func `base64url has one spelling`(text: String) { #expect(Self.decode(text, .url) == nil) }

    @Test(arguments: [
        "A", "AA", "AAA", "AA=", "AAA==", "AB==", "AAB=", "A===", "====", "=", "==", "AAAA====", "AA==AAAA", "AAAA\n",
        "AAAA\r\nAAAA", "AA-A", "AA_A", " AAA", "AA A",
    ]) func `standard base64 has one spelling`(text: String) { #expect(Self.decode(text, .standard) == nil) }

    @Test func `every foreign byte is refused at every position`() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max {
            for place in 0..<7 {
                var text = [UInt8](repeating: UInt8(ascii: "A"), count: 7)
                text[place] = byte
                let isAccepted = Base64.url.decode(text.span) != nil
                let isLast = place == 6
                #expect(isAccepted == alphabet.contains(byte) || (isLast && !isAccepted))
            }
        }
    }
}
