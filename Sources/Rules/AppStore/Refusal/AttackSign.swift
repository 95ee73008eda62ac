/// A possible sign of an attempt to obtain purchases without paying.
package enum AttackSign: String, Sendable, CaseIterable {
    /// Apple's certificates, or imitations of them, with a signature that is not Apple's.
    case forgedSignature = "forged_signature"
    /// Signed by an authority other than Apple.
    case foreignChain = "foreign_chain"
    /// Genuine data that contradicts itself or earlier data, such as a purchase that was passed on.
    case conflict
}

extension RefusalReason {
    /// The kind of attack that the reason may indicate; nil if it is a mere fault.
    package var attackSign: AttackSign? {
        switch self {
        case .algorithmNotAllowed, .signatureInvalid, .receiptSignatureInvalid: .forgedSignature
        case .x5cMissing, .x5cLength, .rootUntrusted, .chainInvalid, .certificatePurpose:
            .foreignChain
        case .itemMismatch, .claimMismatch, .transactionConflict: .conflict
        case .envelopeMalformed, .bodyUnrecognized, .payloadTooLarge, .jwsMalformed,
            .certificateMalformed, .certificateNotValidAtSigning, .certificateRevoked,
            .payloadMalformed, .bundleMismatch, .appMismatch, .environmentMismatch,
            .receiptMalformed, .receiptUnsupported, .observationMalformed, .notStorable:
            nil
        }
    }
}
