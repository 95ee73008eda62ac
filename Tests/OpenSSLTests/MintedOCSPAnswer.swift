import Foundation
import OpenSSL
import Simulation
import TestSupport

/// An answer that a certificate is good, signed by its issuer, with any times: `openssl ocsp`
/// writes no time but the present one.
struct MintedOCSPAnswer {
    let der: [UInt8]

    /// - Parameters:
    ///   - authority: whose leaf the answer is about.
    ///   - thisUpdate: in seconds since 1970, as `nextUpdate`.
    init(_ authority: RevocableAuthority, thisUpdate: Int64, nextUpdate: Int64) throws {
        let chain = try authority.chain
        let question = try OCSPQuestion(about: chain[0], issuedBy: chain[1]).der
        let named = try Self.identifier(in: question)
        let single = DER.sequence([
            DER.element(0x30, Array(question[named.whole])), DER.element(0x80, []), Self.time(thisUpdate),
            DER.element(0xA0, Self.time(nextUpdate)),
        ])
        let data = DER.sequence([
            DER.element(0xA2, DER.octetString(Array(question[named.issuerKeyHash]))), Self.time(thisUpdate),
            DER.sequence([single]),
        ])
        let signature = try authority.blueprint.intermediateKey.sign(data, digest: .sha256)
        let basic = DER.sequence([
            data, DER.sequence([DER.objectIdentifier("1.2.840.10045.4.3.2")]), DER.bitString(signature),
        ])
        let response = DER.sequence([DER.objectIdentifier("1.3.6.1.5.5.7.48.1.1"), DER.octetString(basic)])
        der = DER.sequence([DER.element(0x0A, [0]), DER.element(0xA0, response)])
    }

    private struct NoIdentifier: Error {}

    /// The content of the first CertID in OCSPRequest, TBSRequest, the list and Request.
    private static func identifier(in question: [UInt8]) throws -> (whole: Range<Int>, issuerKeyHash: Range<Int>) {
        var range = question.indices
        for _ in 0..<5 {
            var reader = ASN1Reader(question, range)
            guard let content = reader.next(.sequence) else { throw NoIdentifier() }
            range = content
        }
        var fields = ASN1Reader(question, range)
        guard fields.next(.sequence) != nil, fields.next(.octetString) != nil,
            let issuerKeyHash = fields.next(.octetString)
        else { throw NoIdentifier() }
        return (range, issuerKeyHash)
    }

    private static func time(_ seconds: Int64) -> [UInt8] {
        let date = Date(timeIntervalSince1970: TimeInterval(seconds))
        let digits = date.ISO8601Format().filter { $0 != "-" && $0 != ":" && $0 != "T" }
        return DER.element(0x18, Array(digits.utf8))
    }
}
