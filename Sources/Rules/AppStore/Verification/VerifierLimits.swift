package import JSON

/// The limits of a body's size and cost, beyond which it is refused.
package struct VerifierLimits: Sendable, Equatable {
    package var bodyBytesMax = 1 << 20
    package var headerSegmentBytesMax = 16 << 10
    package var certificateBytesMax = 8 << 10
    /// The maximum of purchases or events in an API response.
    package var itemsMax = 500
    /// The limits of an envelope and of a header.
    package var json = JSONLimits.standard
    /// The limits of a signed payload: smaller, so that an observation can embed two of them.
    package var payload = payloadStandard
    /// The number of verified chains that one verifier remembers.
    package var chainsCachedMax = 32
    /// The number of intermediates that one verifier remembers as signed by a root.
    ///
    /// Each of Apple's roots has signed a dozen, and anybody can turn an ECDSA signature into its
    /// second valid form.
    package var intermediatesKnownMax = 32
    /// The maximum of leaf keys with a table, over all verifiers of a configuration; 0 for none.
    package var keyTablesMax = 8
    /// The number of good signatures of a leaf that one verifier has to see before its key gets a
    /// table.
    package var signaturesBeforeTable = 1_000

    package static let standard = VerifierLimits()

    /// The limits of a payload as a part of an observation, within the standard limits.
    ///
    /// A genuine payload has some sixty values and is at most four levels deep.
    package static let payloadStandard = JSONLimits(depthMax: 48, nodesMax: 40_000)

    /// The depth that an observation leaves to a payload in it.
    package static let payloadDepthMax = JSONLimits.standard.depthMax - 4

    /// Reads an envelope or a header with the strict reader, within the bounds.
    func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: json, policy: .strict).root
    }

    func read(payload bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: payload, policy: .strict).root
    }
}
