package import JSON

/// How much a body may cost before it is refused.
package struct VerifierLimits: Sendable, Equatable {
    package var bodyBytesMax: Int
    /// Of the encoded header segment.
    package var headerSegmentBytesMax: Int
    /// Of one DER certificate.
    package var certificateBytesMax: Int
    /// How many purchases or events an API response may hold.
    package var itemsMax: Int
    package var json: JSONLimits
    /// How many verified chains one verifier remembers.
    package var chainsCachedMax: Int

    package init(
        bodyBytesMax: Int = 1 << 20,
        headerSegmentBytesMax: Int = 16 << 10,
        certificateBytesMax: Int = 8 << 10,
        itemsMax: Int = 500,
        json: JSONLimits = .standard,
        chainsCachedMax: Int = 32
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.headerSegmentBytesMax = headerSegmentBytesMax
        self.certificateBytesMax = certificateBytesMax
        self.itemsMax = itemsMax
        self.json = json
        self.chainsCachedMax = chainsCachedMax
    }

    package static let standard = VerifierLimits()
}
