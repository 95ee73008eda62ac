import Foundation
import JSON
import OpenSSL
import Simulation
import Testing

/// A signature over a digest that is given as such, as the file beside this one has them.
struct P256Case: Sendable, CustomTestStringConvertible {
    let name: String
    let point: [UInt8]
    let key: P256PublicKey
    let digest: SHA256Digest
    let signature: [UInt8]
    let isValid: Bool

    var testDescription: String { name }

    static let all = Result { try read() }

    private static func read() throws -> [P256Case] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Signatures/p256.json")
        let document = try JSONDocument(parsing: [UInt8](Data(contentsOf: file)))
        let items = try #require(document.root["cases"])
        return try items.elements.map { item in
            let point = try bytes(hex: #require(item["key"]?.string))
            let digest = try #require(item["digest"]?.string)
            return try P256Case(
                name: #require(item["name"]?.string), point: point, key: #require(key(point)),
                digest: #require(SHA256Digest(hex: digest)), signature: bytes(hex: #require(item["signature"]?.string)),
                isValid: item["valid"]?.bool == true)
        }
    }

    /// The key of an uncompressed point.
    static func key(_ point: [UInt8]) -> P256PublicKey? {
        let algorithm = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        return P256PublicKey(subjectPublicKeyInfo: DER.sequence([algorithm, DER.bitString(point)]))
    }

    static func bytes(hex: String) throws -> [UInt8] {
        let digits = Array(hex)
        try #require(digits.count.isMultiple(of: 2))
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(digits[index...index + 1]), radix: 16))
        }
    }
}
