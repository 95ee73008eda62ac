package import OpenSSL

/// Why one record is refused, and what an auditor has to know: from the rule that it broke to
/// the headers of its dead letter.
///
/// Referred to, so that a record that is accepted carries no room for one.
package final class Refusal: Error, Sendable {
    package let reason: RefusalReason
    /// Which rule, in at most 200 bytes of our own words: nothing of the record is in it.
    package let detail: String
    /// Leaf, intermediate and root as presented, as far as they parsed, also where the chain
    /// failed; empty where the fault came before the certificates.
    package let chain: [CertificateFacts]
    /// What the record says of itself, for search only: nobody has verified it.
    package let unverified: UnverifiedIdentifiers
    /// The SHA-256 of the signed payload that only the settings refuse; nil for all other reasons.
    ///
    /// `unverified` then holds what this payload says, whose signature is good.
    package let signedPayload: SHA256Digest?

    package init(
        reason: RefusalReason,
        detail: String,
        chain: [CertificateFacts] = [],
        unverified: UnverifiedIdentifiers = UnverifiedIdentifiers(),
        signedPayload: SHA256Digest? = nil
    ) {
        self.reason = reason
        self.detail = detail
        self.chain = chain
        self.unverified = unverified
        self.signedPayload = signedPayload
    }
}

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

/// A broken rule where it is found; `VerificationTrail` makes the refusal of it.
struct Fault: Error, Equatable {
    let reason: RefusalReason
    /// Our own words, without anything of the body.
    let detail: String

    init(_ reason: RefusalReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
