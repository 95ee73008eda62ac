/// The ways into the verifier and the auditors' view of what it refuses, each fuzzed separately.
enum FuzzTarget: String, CaseIterable {
    /// Whole bodies, as they stand in the topic.
    case body
    /// A compact JWS whose chain is verified without a cache.
    case jws
    /// A signed payload: a good chain signs the input before it is verified.
    case payload
    /// A certificate in DER, alone and at each position in a chain.
    case certificate
    /// The content of a receipt, signed before it is verified; whole messages too.
    case receipt
    /// Signatures, each verified by OpenSSL and by a table of the key: the results are equal.
    case signature
    /// Answers of Apple's server, which are read before anything in them is verified.
    case page
    /// Whole bodies, in a dead letter that auditors open.
    case rendering
}
