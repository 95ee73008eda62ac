package import OpenSSL

/// How a receipt is written around what it signs, each part to be broken for a test.
///
/// As it comes it has the form of Apple's of today: DER, SHA-256, no signed attributes, the three
/// certificates with the leaf first.
package struct ReceiptForm: Sendable {
    package var digest = SignatureDigest.sha256
    /// Where they are there, it is they that are signed.
    package var hasSignedAttributes = false
    package var hasUnsignedAttributes = false
    /// As Xcode writes: indefinite lengths, and the content in pieces of this many bytes.
    package var pieceBytes: Int?
    /// How deep the pieces' strings are nested.
    package var pieceDepth = 1
    /// In place of the authority's.
    package var certificates: [[UInt8]]?
    package var signersCount = 1
    /// Signs in place of the leaf's key.
    package var signerKey: PrivateKey?
    /// Stands in the receipt in place of the content that was signed.
    package var shownContent: [UInt8]?
    package var hasContent = true
    /// Stands in the signed attributes in place of the content's digest.
    package var namedDigest: [UInt8]?
    package var namedContentType = dataType
    package var digestAlgorithm: String?
    package var signatureAlgorithm = "1.2.840.113549.1.1.1"
    package var contentType = dataType
    package var trailing: [UInt8] = []

    package static let dataType = "1.2.840.113549.1.7.1"

    package init() {}

    var digestOID: String {
        digestAlgorithm ?? (digest == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1")
    }
}
