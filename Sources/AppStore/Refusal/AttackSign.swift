/// What may show that somebody tries to get what was not bought.
package enum AttackSign: String, Sendable, CaseIterable {
    /// Apple's certificates, or such as look like them, with a signature that is not theirs.
    case forgedSignature = "forged_signature"
    /// Signed by another authority than Apple's.
    case foreignChain = "foreign_chain"
    /// Genuine data that contradicts itself or what is known, as in a purchase that was passed on.
    case conflict
}

extension RefusalReason {
    /// What kind of attack the reason may be a sign of; nil where it is a fault.
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
