import OpenSSL
import Testing

/// The bundle ID of a receipt, read without verifying anything.
struct ReceiptProbe {
    let bundleID: String

    init(_ text: [UInt8]) throws {
        let decoded = Base64Decoding.standard(String(decoding: text, as: UTF8.self))
        let receipt = try #require(decoded)
        // Attribute 2, version 1, and the beginning of an OCTET STRING.
        let marker: [UInt8] = [0x02, 0x01, 0x02, 0x02, 0x01, 0x01, 0x04]
        let start = try #require(receipt.firstRange(of: marker)?.upperBound)
        var reader = ASN1Reader(receipt, start + 1..<receipt.count)
        let content = reader.next(.utf8String)
        bundleID = String(decoding: receipt[try #require(content)], as: UTF8.self)
    }
}
