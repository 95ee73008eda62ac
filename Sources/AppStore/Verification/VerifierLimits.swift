package import JSON
import OpenSSL

/// How much a body may cost before it is refused.
package struct VerifierLimits: Sendable, Equatable {
    package var bodyBytesMax: Int
    /// Of the encoded header segment.
    package var headerSegmentBytesMax: Int
    /// Of one DER certificate.
    package var certificateBytesMax: Int
    /// How many purchases or events an API response may hold.
    package var itemsMax: Int
    /// Of an envelope and of a header.
    package var json: JSONLimits
    /// Of what is signed: less, so that it still fits where an observation embeds two of them.
    package var payload: JSONLimits
    /// How many verified chains one verifier remembers.
    package var chainsCachedMax: Int
    /// Of how many intermediates one verifier remembers that a root has signed them.
    ///
    /// Each of Apple's roots has signed a dozen, and an ECDSA signature has a second form that
    /// anybody can make of it.
    package var intermediatesKnownMax: Int
    /// How many leaf keys have a table at once, in all verifiers of a configuration; 0 for none.
    package var keyTablesMax: Int
    /// After how many good signatures that one verifier has seen of a leaf its key gets a table.
    package var signaturesBeforeTable: Int

    package init(
        bodyBytesMax: Int = 1 << 20,
        headerSegmentBytesMax: Int = 16 << 10,
        certificateBytesMax: Int = 8 << 10,
        itemsMax: Int = 500,
        json: JSONLimits = .standard,
        payload: JSONLimits = payloadStandard,
        chainsCachedMax: Int = 32,
        intermediatesKnownMax: Int = 32,
        keyTablesMax: Int = 8,
        signaturesBeforeTable: Int = 1_000
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.headerSegmentBytesMax = headerSegmentBytesMax
        self.certificateBytesMax = certificateBytesMax
        self.itemsMax = itemsMax
        self.json = json
        self.payload = payload
        self.chainsCachedMax = chainsCachedMax
        self.intermediatesKnownMax = intermediatesKnownMax
        self.keyTablesMax = keyTablesMax
        self.signaturesBeforeTable = signaturesBeforeTable
    }

    package static let standard = VerifierLimits()

    /// What every later stage reads as a part of an observation, whose own limits are the standard
    /// ones: a genuine payload has some sixty values, four levels deep at most.
    package static let payloadStandard = JSONLimits(depthMax: 48, nodesMax: 40_000)

    /// The most levels that an observation leaves to what it embeds.
    package static let payloadDepthMax = JSONLimits.standard.depthMax - 4

    /// Reads an envelope or a header with the strict reader, within the bounds.
    func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: json, policy: .strict).root
    }

    /// Reads what was signed.
    func read(payload bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(parsing: bytes, limits: payload, policy: .strict).root
    }
}
