package import JSON

/// The limits on a body's size and cost; a body beyond a limit is refused.
package struct VerifierLimits: Sendable, Equatable {
    package var bodyBytesMax = 1 << 20
    package var headerSegmentBytesMax = 16 << 10
    package var certificateBytesMax = 8 << 10
    /// Maximum purchases or events in an API response.
    package var itemsMax = 500
    /// The limits of an envelope and of a header.
    package var json = JSONLimits.standard
    /// The limits of a signed payload: smaller, so that an observation can contain two payloads.
    package var payload = payloadStandard
    /// Maximum verified chains in the cache of one verifier.
    package var chainsCachedMax = 32
    /// Maximum intermediates that one verifier caches as signed by a root.
    ///
    /// Each of Apple's roots has signed about a dozen, and anybody can convert an ECDSA signature into its second
    /// valid form.
    package var intermediatesKnownMax = 32
    /// Maximum leaf keys with a table, over all verifiers of a configuration; 0 for none.
    package var keyTablesMax = 8
    /// Number of valid signatures of a leaf that one verifier must find before the leaf's key gets a table.
    package var signaturesBeforeTable = 1_000

    package static let standard = VerifierLimits()

    /// The limits of a payload as a part of an observation, within the standard limits.
    ///
    /// A genuine payload has about sixty values and is at most four levels deep.
    package static let payloadStandard = JSONLimits(depthMax: 48, nodesMax: 40_000)

    /// Maximum depth of a payload within an observation.
    package static let payloadDepthMax = JSONLimits.standard.depthMax - 4

    /// Reads an envelope or a header with the strict reader, within the limits.
    func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: json, policy: .strict).root
    }

    func read(payload bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: payload, policy: .strict).root
    }
}
