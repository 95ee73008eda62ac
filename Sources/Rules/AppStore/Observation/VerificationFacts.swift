package import OpenSSL

/// The verifier's findings about the signature of an observation.
package struct VerificationFacts: Hashable, Sendable {
    /// The date at which the certificates had to be valid.
    package var signedDate: Timestamp
    package var leaf: SHA256Digest
    /// The anchor of the chain: Apple's root, or a root of the app's entry.
    package var root: SHA256Digest
    /// The trust by which renewal infos are matched to purchases.
    package var trust: Trust
    package var method: Method
    /// The version of the verifier, for auditors.
    package var verifier: String

    package init(
        signedDate: Timestamp, leaf: SHA256Digest, root: SHA256Digest, trust: Trust, method: Method, verifier: String
    ) {
        self.signedDate = signedDate
        self.leaf = leaf
        self.root = root
        self.trust = trust
        self.method = method
        self.verifier = verifier
    }

    package enum Method: String, Sendable {
        case jws
        /// A JWS with the single certificate exported from Xcode.
        case jwsXcode = "jws-xcode"
        case receipt
    }
}
