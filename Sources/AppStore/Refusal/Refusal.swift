package import OpenSSL

/// The first rule that a body broke, and what an auditor needs to judge it.
package struct Refusal: Error, Sendable {
    package let reason: RefusalReason
    /// Which rule, in at most 200 bytes of our own words: nothing of the body is in it.
    package let detail: String
    /// Leaf, intermediate and root as presented, as far as they parsed, also where the chain
    /// failed; empty where the fault came before the certificates.
    package let chain: [CertificateFacts]
    /// What the body says of itself, for search only: nobody has verified it.
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
