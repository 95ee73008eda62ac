package import AppStore
package import OpenSSL

/// Why one record is dead-lettered, and what an auditor needs to judge it.
package struct DeadLetterFacts: Sendable {
    package let reason: RefusalReason
    /// Which rule, in our own words: nothing of the record is in it.
    package let detail: String
    /// Leaf, intermediate and root as presented; empty where there were none.
    package let chain: [CertificateFacts]
    /// What the record says of itself, for search only.
    package let unverified: UnverifiedIdentifiers
    /// The SHA-256 of the signed payload that only the settings refuse; nil for all other reasons.
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

    package init(_ refusal: Refusal) {
        self.init(
            reason: refusal.reason,
            detail: refusal.detail,
            chain: refusal.chain,
            unverified: refusal.unverified,
            signedPayload: refusal.signedPayload
        )
    }
}
