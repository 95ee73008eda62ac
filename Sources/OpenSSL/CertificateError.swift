/// Why bytes are not a certificate this product reads.
package enum CertificateError: Error, Hashable, Sendable {
    /// Not DER: lengths, nesting or primitive values that only BER allows, or cut off.
    case notDER
    /// One certificate, and something after it.
    case trailingBytes
    /// More ASN.1 elements than any certificate has that somebody means well with.
    case tooManyElements
    /// DER, but not the structure of a certificate.
    case notACertificate
    /// Not X.509 version 3.
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
