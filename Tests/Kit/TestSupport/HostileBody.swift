import Foundation
import OpenSSL
import Simulation

/// A body that is made to cost much, or to be read wrongly: the verifier refuses it, and auditors
/// look into its dead letter.
package struct HostileBody: Sendable, CustomStringConvertible {
    package let name: String
    package let bytes: [UInt8]

    package var description: String { name }

    /// All hostile bodies, each small enough for a topic with the default limit.
    package static func all() throws -> [HostileBody] {
        let authority = try CertificateAuthority()
        let token = try authority.sign(TransactionFields().json)
        return try plain + texts + paths + receipts + tokens(authority, token) + chains(authority, token) + files()
    }

    /// Less than the default limit of a record, with room for headers.
    private static let bytesMax = 960_000

    private init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    private init(_ name: String, _ text: String) { self.init(name, Array(text.utf8)) }

    private static let plain: [HostileBody] = [
        HostileBody("dots alone", [UInt8](repeating: UInt8(ascii: "."), count: bytesMax)),
        HostileBody("noise", (0..<bytesMax).map { UInt8(truncatingIfNeeded: $0 &* 31 | 0x80) }),
        HostileBody("10,000 arrays deep", String(repeating: "[", count: 10_000)),
        HostileBody("10,000 objects deep", String(repeating: #"{"a":"#, count: 10_000)),
        HostileBody("a number of 900,000 digits", #"{"price":\#(filled("7", 900_000))}"#),
        HostileBody("100,000 numbers under 60 arrays", filled("[", 60) + filled("1,", 199_800) + "1" + filled("]", 60)),
        HostileBody("escaped keys, many", objects(of: 30_000) { #"\u0061aaaa\#(10_000 + $0)"# }),
        HostileBody("keys, few and long", objects(of: 31) { filled("a", 16_000) + "\($0)" }),
        HostileBody("many texts", #"{"a":["# + filled(#""eyJ.","#, 900_000) + #"0]}"#),
    ]

    /// Texts of a single character in the eyes of a reader, of any length, or of marks that hide
    /// and turn text.
    private static let texts: [HostileBody] = [
        ("accents", "\u{301}"), ("regional indicators", "\u{1F1E6}\u{1F1E7}"), ("joined signs", "\u{1F469}\u{200D}"),
        ("turned text", "\u{202E}"), ("carriage", "\r"),
    ].flatMap { name, text in
        [
            HostileBody("\(name) alone", filled(text, bytesMax)),
            HostileBody("\(name) in JSON", #"{"productId":"\#(filled(text, 900_000))"}"#),
        ]
    }

    /// A path that is made for every element has the size of both together.
    private static let paths: [HostileBody] = [
        HostileBody("a long key around 90,000 elements", #"{"\#(filled("k", 600_000))":[\#(filled("0,", 180_000))0]}"#),
        HostileBody(
            "a long key around 100 tokens", #"{"\#(filled("k", 900_000))":[\#(filled(#""eyJ.e30.x","#, 1_200))0]}"#),
        HostileBody(
            "60 long keys in each other",
            (0..<60).map { _ in #"{"\#(filled("k", 10_000))":"# }.joined() + "[\(filled("0,", 100_000))0]"
                + filled("}", 60)),
    ]

    private static let receipts: [HostileBody] = [
        HostileBody("an iOS 6 receipt of flags", legacyReceipt(of: "\u{1F1E6}\u{1F1E7}")),
        HostileBody("an iOS 6 receipt of accents", legacyReceipt(of: "\u{301}")),
        HostileBody("base64 that is no receipt", "MI" + filled("A", 900_002)),
    ]

    /// A receipt in the style of iOS 6; decoded, it stays within the 64 KiB that one may have.
    package static func legacyReceipt(of text: String) -> [UInt8] {
        let list = "{\n\"" + filled(text, 60_000) + "\n}"
        return Body.receipt(Base64Text.standard(Array(list.utf8)))
    }

    /// An object with so many members.
    package static func objects(of count: Int, _ key: (Int) -> String) -> [UInt8] {
        let members = (0..<count).map { "\"\(key($0))\":0" }.joined(separator: ",")
        return Array("{\(members)}".utf8)
    }

    /// The text repeated up to a number of bytes.
    private static func filled(_ text: String, _ bytes: Int) -> String {
        String(repeating: text, count: bytes / text.utf8.count)
    }

    private static func tokens(_ authority: CertificateAuthority, _ token: [UInt8]) throws -> [HostileBody] {
        var nested = try authority.sign(Array(#"{"a":"\#(filled("b ", 60_000))"}"#.utf8))
        while nested.count < 500_000 {
            let text = String(decoding: nested, as: UTF8.self)
            nested = try authority.sign(Array(#"{"signedTransactionInfo":"\#(text)"}"#.utf8))
        }
        let list = #"{"items":[\#(filled("[{}],", 600_000))0]}"#
        return [
            HostileBody("tokens in each other", Body.notification(nested)),
            HostileBody("300 tokens", Body.history(Array(repeating: token, count: 250))),
            HostileBody("a token of a list", try authority.sign(Array(list.utf8))),
            HostileBody(
                "a token of accents", try authority.sign(Array(#"{"type":"\#(filled("\u{301}", 600_000))"}"#.utf8))),
        ]
    }

    private static func chains(_ authority: CertificateAuthority, _ token: [UInt8]) throws -> [HostileBody] {
        let rest = token.drop { $0 != UInt8(ascii: ".") }
        let short = filled(#""AAAA","#, 7_000) + #""AAAA""#
        let header = Base64Text.url(Array(#"{"alg":"ES256","x5c":[\#(short)]}"#.utf8))
        let long = CertificateAuthority.headerSegment(certificates: Array(repeating: authority.leaf, count: 600))
        let blueprint = try AuthorityBlueprint(name: "Costly", validity: CertificateAuthority.standardValidity)
        let stranger = try PrivateKey.generate(.p384)
        let costly = try CostlyCertificate.allCases.map { certificate in
            let forged = try CertificateAuthority(blueprint.forged(with: certificate, signer: stranger))
            let token = try forged.sign(TransactionFields().json)
            let count = min(100, 900_000 / token.count)
            let body = Body.history(Array(repeating: token, count: count))
            return HostileBody("\(count) times \(certificate.rawValue)", body)
        }
        return costly + [HostileBody("1,000 certificates", header + rest), HostileBody("600 whole ones", long + rest)]
    }

    /// The inputs that the fuzzer begins with.
    private static func files() throws -> [HostileBody] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fuzz/Corpus")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return paths.sorted().compactMap { path in
            let file = try? Data(contentsOf: root.appending(path: path))
            return file.map { HostileBody("the file \(path)", Array($0)) }
        }
    }
}
