package import OpenSSL

/// The reason why one record is refused, with the facts that an auditor needs.
///
/// A refusal is a class, so that an accepted record needs no space for one.
package final class Refusal: Error, Sendable {
    package let reason: RefusalReason
    /// The broken rule, in at most 200 bytes of constant text, without any text from the record.
    package let detail: String
    /// Leaf, intermediate and root as presented, as far as they were parsed, even if the chain failed; empty if the
    /// fault was found before the certificates.
    package let chain: [CertificateFacts]
    /// The record's unverified statements about itself, only for search.
    package let unverified: UnverifiedIdentifiers
    /// The SHA-256 of a signed payload that is refused only because of the settings.
    ///
    /// `unverified` then contains statements of this payload, whose signature is valid. `nil` for all other reasons.
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

/// A broken rule; `VerificationTrail` turns it into the refusal.
package struct Fault: Error, Hashable {
    package let reason: RefusalReason
    /// Constant text without any text from the body.
    package let detail: String

    package init(_ reason: RefusalReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
