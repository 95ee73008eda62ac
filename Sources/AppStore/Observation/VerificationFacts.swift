package import OpenSSL

/// What the verifier found true of the signature that vouches for an observation.
package struct VerificationFacts: Hashable, Sendable {
    /// The date at which the certificates had to be valid.
    package var signedDate: Timestamp
    package var leaf: SHA256Digest
    /// The anchor that vouched: Apple's root, or the one an app entry names.
    package var root: SHA256Digest
    /// Who vouched, as renewal infos are joined to purchases by it.
    package var trust: Trust
    package var method: Method
    /// The version of the verifier, for auditors.
    package var verifier: String

    package init(
        signedDate: Timestamp,
        leaf: SHA256Digest,
        root: SHA256Digest,
        trust: Trust,
        method: Method,
        verifier: String
    ) {
        self.signedDate = signedDate
        self.leaf = leaf
        self.root = root
        self.trust = trust
        self.method = method
        self.verifier = verifier
    }

    /// How the payload was signed.
    package enum Method: String, Sendable {
        case jws
        /// A JWS with the single certificate exported from Xcode.
        case jwsXcode = "jws-xcode"
        case receipt
    }
}
