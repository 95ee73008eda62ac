internal import COpenSSL
internal import Synchronization

/// An X.509 certificate with the facts that a chain policy needs; this type checks none of the facts.
///
/// Parsing is strict about form: DER, nothing after it, version 3, dates as in RFC 5280, and a key on P-256 or P-384
/// must be a point of its curve. Parsing decodes no key: the first call of `keyKind`, `p256Key` or `isSigned(by:)`
/// does, so that a chain with a wrong root is refused cheaply. A certificate is immutable, so threads may share it.
@safe package final class Certificate: Sendable {
    package let der: [UInt8]
    package let fingerprint: SHA256Digest
    /// The first and the last second of validity, since 1970.
    package let validity: ClosedRange<Int64>
    /// Whether basic constraints are present with the CA flag set.
    package let isCA: Bool
    /// Maximum intermediates below this certificate.
    ///
    /// `nil` if the certificate sets no limit.
    package let pathLengthMax: Int?
    /// The uses that the key usage extension permits.
    ///
    /// `nil` if the extension is absent, which means no restriction.
    package let keyUsage: KeyUsage?
    package let signatureDigest: SignatureDigest
    /// Whether the subject's key is on a curve named by its OID, or on no curve at all.
    package let hasNamedCurve: Bool

    let outline: ParsedCertificate
    private let whole = Mutex(Whole())

    /// The certificate parsed again, with its key, and the facts about the key.
    private struct Whole {
        var parsed: ParsedCertificate?
        var keyKind: KeyKind?
    }

    /// Reads one certificate that occupies all of `der`.
    ///
    /// The caller limits the size. Invalid bytes throw and never trap. Versions before 3 have no extensions, so they
    /// are accepted only for certificates that no decision depends on.
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

    /// The OIDs, in dotted decimal, of the critical extensions that no rule of this product handles.
    package var unknownCriticalExtensions: [String] { outline.unknownCriticalExtensions }

    /// Compares names as OpenSSL does, then the authority key identifier if there is one.
    ///
    /// The function computes no signature: `isSigned(by:)` does.
    package func issuance(by issuer: Certificate) -> IssuanceCheck { outline.issuance(by: issuer.outline) }

    /// The kind of the subject's key, which the first call decodes and checks.
    package var keyKind: KeyKind {
        let parsed = withWhole { $0 }
        return whole.withLock { whole in
            let kind = whole.keyKind ?? parsed?.keyKind ?? .other
            whole.keyKind = kind
            return kind
        }
    }

    /// The key for ES256.
    ///
    /// `nil` if the certificate has a key of another kind.
    package var p256Key: P256PublicKey? {
        guard keyKind == .p256 else { return nil }
        return withWhole { whole in whole.flatMap(P256PublicKey.init(of:)) }
    }

    /// Whether the certificate's signature verifies with the issuer's key.
    ///
    /// False also if the two algorithms differ or the issuer's key cannot be decoded.
    package func isSigned(by issuer: Certificate) -> Bool {
        issuer.withWhole { issuer in
            guard let issuer else { return false }
            return withWhole { $0?.isSigned(by: issuer) ?? false }
        }
    }

    /// Parses the certificate again, with its key.
    func withWhole<Result>(_ body: (ParsedCertificate?) -> sending Result) -> sending Result {
        let parsed = whole.withLock { whole in
            if whole.parsed == nil { whole.parsed = ParsedCertificate(der: der, in: .standard) }
            return whole.parsed
        }
        return body(parsed)
    }
}

extension Certificate {
    /// The addresses of the OCSP responders in the certificate (RFC 5280 §4.2.2.1), in order.
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

/// The reason why bytes are not a certificate that this product reads.
package enum CertificateError: Error, Hashable, Sendable {
    /// The bytes are truncated, or not DER: their lengths, nesting or primitive values are allowed only in BER.
    case notDER
    /// Bytes follow the certificate.
    case trailingBytes
    /// The bytes have more ASN.1 elements than any genuine certificate.
    case tooManyElements
    /// The bytes are DER, but not the structure of a certificate.
    case notACertificate
    /// The certificate is not X.509 version 3.
    case unsupportedVersion
    /// A date has a form that RFC 5280 §4.1.2.5 does not allow, or does not exist in the calendar.
    case invalidDate
    /// OpenSSL knows an extension but cannot read it, or an extension occurs twice.
    case invalidExtension
    /// A key on P-256 or P-384 is the point at infinity or not on its curve.
    case invalidKey
    /// The text has no PEM block, or a block that is not a certificate.
    case notPEM
}

/// The result of checking whether one certificate names another as its issuer.
package enum IssuanceCheck: Hashable, Sendable {
    case named
    /// The issuer has another subject.
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

/// The digest that a certificate's signature covers.
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
