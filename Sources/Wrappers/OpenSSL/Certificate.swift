internal import COpenSSL
internal import Synchronization

/// An X.509 certificate: the facts that a chain policy needs, none of them checked here.
///
/// Parsing is strict about form (DER, nothing after it, version 3, dates as RFC 5280 prescribes, a
/// key on P-256 or P-384 a point of its curve) and decodes no key: `keyKind`, `p256Key` and
/// `isSigned(by:)` do at the first call, so that a chain that ends at the wrong root is refused
/// cheaply. Immutable, so that threads may share one.
@safe package final class Certificate: Sendable {
    package let der: [UInt8]
    package let fingerprint: SHA256Digest
    /// The first and the last second of validity, since 1970.
    package let validity: ClosedRange<Int64>
    /// Basic constraints are present, and their CA flag is set.
    package let isCA: Bool
    /// Maximum intermediates that may follow.
    ///
    /// `nil` if nothing limits them.
    package let pathLengthMax: Int?
    /// The uses that the key usage extension permits.
    ///
    /// `nil` if the extension is absent, which restricts nothing.
    package let keyUsage: KeyUsage?
    package let signatureDigest: SignatureDigest
    /// The subject's key is on a curve named by its OID, or is on no curve at all.
    package let hasNamedCurve: Bool

    let outline: ParsedCertificate
    private let whole = Mutex(Whole())

    /// The certificate parsed once more, now with its key, and what was found of the key.
    private struct Whole {
        var parsed: ParsedCertificate?
        var keyKind: KeyKind?
    }

    /// Reads one certificate that fills `der`.
    ///
    /// The caller bounds its size. Garbage throws and never traps. Versions before 3 have no
    /// extensions, so they are accepted only if no decision rests on the certificate.
    package init(der: [UInt8], acceptsOldVersions: Bool = false) throws(CertificateError) {
        switch DERScan.outcome(of: der) {
        case .canonical: break
        case .trailingBytes: throw .trailingBytes
        case .tooManyElements: throw .tooManyElements
        case .malformed: throw .notDER
        }
        guard let outline = ParsedCertificate(der: der, in: .null) else { throw .notACertificate }
        guard outline.version == 3 || acceptsOldVersions else { throw .unsupportedVersion }
        guard let validity = outline.validity else { throw .invalidDate }
        guard let extensions = outline.extensions else { throw .invalidExtension }
        guard outline.hasPointOfItsCurve else { throw .invalidKey }
        self.der = der
        fingerprint = SHA256.digest(der)
        self.validity = validity
        isCA = extensions.isCA
        pathLengthMax = extensions.pathLengthMax
        keyUsage = extensions.keyUsage
        signatureDigest = outline.signatureDigest
        hasNamedCurve = outline.hasNamedCurve
        self.outline = outline
    }

    /// Counts the occurrences of an extension; `oid` is dotted decimal.
    package func occurrences(ofExtension oid: String) -> Int { outline.occurrences(ofExtension: oid) }

    /// The critical extensions, dotted decimal, that no rule of this product handles.
    package var unknownCriticalExtensions: [String] { outline.unknownCriticalExtensions }

    /// Compares names as OpenSSL does, then the authority key identifier where there is one.
    ///
    /// No signature is computed: `isSigned(by:)` is the other half.
    package func issuance(by issuer: Certificate) -> IssuanceCheck { outline.issuance(by: issuer.outline) }

    /// The subject's key; decoded and checked at the first call.
    package var keyKind: KeyKind {
        let parsed = withWhole { $0 }
        return whole.withLock { whole in
            let kind = whole.keyKind ?? parsed?.keyKind ?? .other
            whole.keyKind = kind
            return kind
        }
    }

    /// The key for ES256; nil if the certificate has another kind.
    package var p256Key: P256PublicKey? {
        guard keyKind == .p256 else { return nil }
        return withWhole { whole in whole.flatMap(P256PublicKey.init(of:)) }
    }

    /// The signature over this certificate verifies with the issuer's key.
    ///
    /// False also if the two algorithms differ or the issuer's key does not decode.
    package func isSigned(by issuer: Certificate) -> Bool {
        issuer.withWhole { issuer in
            guard let issuer else { return false }
            return withWhole { $0?.isSigned(by: issuer) ?? false }
        }
    }

    /// Parses the certificate once more, now with its key.
    func withWhole<Result>(_ body: (ParsedCertificate?) -> sending Result) -> sending Result {
        let parsed = whole.withLock { whole in
            if whole.parsed == nil { whole.parsed = ParsedCertificate(der: der, in: .standard) }
            return whole.parsed
        }
        return body(parsed)
    }
}

extension Certificate {
    /// The addresses of OCSP responders that the certificate names (RFC 5280 §4.2.2.1), in order.
    package var ocspResponders: [String] {
        defer { ERR_clear_error() }
        guard let addresses = unsafe X509_get1_ocsp(outline.object.pointer) else { return [] }
        defer { unsafe X509_email_free(addresses) }
        return unsafe (0..<OPENSSL_sk_num(addresses)).compactMap { index in
            let text = unsafe OPENSSL_sk_value(addresses, index)
            return unsafe text.map { start in unsafe String(cString: start.assumingMemoryBound(to: CChar.self)) }
        }
    }
}

/// The reason for which bytes are not a certificate this product reads.
package enum CertificateError: Error, Hashable, Sendable {
    /// The bytes are cut off, or not DER: they have lengths, nesting or primitive values that only
    /// BER allows.
    case notDER
    /// Bytes follow the certificate.
    case trailingBytes
    /// The bytes have more ASN.1 elements than any genuine certificate.
    case tooManyElements
    /// DER, but not the structure of a certificate.
    case notACertificate
    /// The certificate is not X.509 version 3.
    case unsupportedVersion
    /// A date in another form than RFC 5280 §4.1.2.5 prescribes, or one that no calendar has.
    case invalidDate
    /// An extension that OpenSSL knows and cannot read, or that occurs twice.
    case invalidExtension
    /// A key on P-256 or P-384 that is the point at infinity or not on its curve.
    case invalidKey
    /// No PEM block, or one that is no certificate.
    case notPEM
}

/// Whether one certificate names another as its issuer.
package enum IssuanceCheck: Hashable, Sendable {
    case named
    /// The issuer's subject is another name.
    case nameMismatch
    /// The authority key identifier names another key or serial number.
    case keyIdentifierMismatch
}

/// The bits of a certificate's key usage extension that this product reads (RFC 5280 §4.2.1.3).
package struct KeyUsage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let digitalSignature = KeyUsage(rawValue: 0x80)
    package static let nonRepudiation = KeyUsage(rawValue: 0x40)
    package static let keyEncipherment = KeyUsage(rawValue: 0x20)
    package static let keyCertSign = KeyUsage(rawValue: 0x04)
    package static let crlSign = KeyUsage(rawValue: 0x02)
}

/// The digest that a certificate's signature is made over.
package enum SignatureDigest: Hashable, Sendable {
    case md5
    case sha1
    case sha224
    case sha256
    case sha384
    case sha512
    case other

    /// The algorithm's name for `EVP_MD_fetch`.
    var opensslName: String? {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        case .other: nil
        }
    }
}
