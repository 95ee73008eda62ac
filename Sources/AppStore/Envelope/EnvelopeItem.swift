/// One purchase or event of a body: a JWS, or a transaction and the renewal info paired with it.
struct EnvelopeItem {
    /// In the order of the body, with the kind that the field's name promises; nil where any will
    /// do.
    let tokens: [(token: Token, kind: PayloadKind?)]
    /// The object around the tokens, where its unsigned fields are claims about this item alone.
    let claims: UnsignedClaims?

    init(tokens: [(token: Token, kind: PayloadKind?)], claims: UnsignedClaims? = nil) {
        self.tokens = tokens
        self.claims = claims
    }

    init(_ token: Token, _ kind: PayloadKind?) {
        self.init(tokens: [(token, kind)])
    }
}
