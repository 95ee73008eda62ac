package import OpenSSL

/// What names a certificate to an auditor.
package struct CertificateFacts: Hashable, Sendable {
    package let fingerprint: SHA256Digest
    /// The first and the last second of validity, since 1970.
    package let validity: ClosedRange<Int64>

    package init(fingerprint: SHA256Digest, validity: ClosedRange<Int64>) {
        self.fingerprint = fingerprint
        self.validity = validity
    }

    init(_ certificate: Certificate) {
        self.init(fingerprint: certificate.fingerprint, validity: certificate.validity)
    }
}
