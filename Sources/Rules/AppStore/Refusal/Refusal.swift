package import OpenSSL

/// The reason why one record is refused, with the facts that an auditor needs.
///
/// A class, so that an accepted record carries no room for one.
package final class Refusal: Error, Sendable {
    package let reason: RefusalReason
    /// The broken rule, in at most 200 bytes of constant text: it quotes nothing from the record.
    package let detail: String
    /// Leaf, intermediate and root as presented, as far as they parsed, even if the chain failed;
    /// empty if the fault came before the certificates.
    package let chain: [CertificateFacts]
    /// The record's statements about itself, for search only: unverified.
    package let unverified: UnverifiedIdentifiers
    /// The SHA-256 of the signed payload that only the settings refuse; nil for all other reasons.
    ///
    /// `unverified` then holds statements of this payload, whose signature is good.
    package let signedPayload: SHA256Digest?

    package init(
        reason: RefusalReason, detail: String, chain: [CertificateFacts] = [],
        unverified: UnverifiedIdentifiers = UnverifiedIdentifiers(), signedPayload: SHA256Digest? = nil
    ) {
        self.reason = reason
        self.detail = detail
        self.chain = chain
        self.unverified = unverified
        self.signedPayload = signedPayload
    }
}

/// The facts by which an auditor identifies a certificate.
package struct CertificateFacts: Hashable, Sendable {
    package let fingerprint: SHA256Digest
    /// The first and the last second of validity, since 1970.
    package let validity: ClosedRange<Int64>

    package init(fingerprint: SHA256Digest, validity: ClosedRange<Int64>) {
        self.fingerprint = fingerprint
        self.validity = validity
    }

    init(_ certificate: Certificate) { self.init(fingerprint: certificate.fingerprint, validity: certificate.validity) }
}

/// A broken rule where it is found; `VerificationTrail` turns it into the refusal.
package struct Fault: Error, Hashable {
    package let reason: RefusalReason
    /// Constant text that quotes nothing from the body.
    package let detail: String

    package init(_ reason: RefusalReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
