import JSON

/// One JWS that has passed every rule that concerns it alone.
///
/// A class, because copying the dozens of fields of a payload costs more than handing on one
/// reference.
final class SignedStatement {
    let token: Token
    /// The payload as Apple signed it.
    let json: JSONValue
    let fields: SignedFields
    let signedDate: Timestamp
    let chain: VerifiedChain
    /// The one of the chain's anchors that may vouch for the payload.
    let anchor: Anchor
    let environment: Environment
    /// The app's entry; nil for renewal info, which names no app.
    let app: ConfiguredApp?

    init(
        token: Token,
        json: JSONValue,
        fields: SignedFields,
        signedDate: Timestamp,
        chain: VerifiedChain,
        vouching: Vouching
    ) {
        self.token = token
        self.json = json
        self.fields = fields
        self.signedDate = signedDate
        self.chain = chain
        anchor = vouching.anchor
        environment = vouching.environment
        app = vouching.app
    }

    var verification: VerificationFacts {
        VerificationFacts(
            signedDate: signedDate,
            leaf: chain.leaf,
            root: anchor.fingerprint,
            trust: anchor.trust,
            method: chain.method,
            verifier: Verifier.version
        )
    }
}
