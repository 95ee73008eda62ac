/// The closed set of reasons for a dead letter, written to the header `dlq.reason`.
package enum RefusalReason: String, Sendable, CaseIterable {
    case envelopeMalformed = "envelope_malformed"
    case bodyUnrecognized = "body_unrecognized"
    case payloadTooLarge = "payload_too_large"
    case jwsMalformed = "jws_malformed"
    case algorithmNotAllowed = "algorithm_not_allowed"
    case x5cMissing = "x5c_missing"
    case x5cLength = "x5c_length"
    case certificateMalformed = "certificate_malformed"
    case rootUntrusted = "root_untrusted"
    case chainInvalid = "chain_invalid"
    case certificateNotValidAtSigning = "certificate_not_valid_at_signing"
    case certificatePurpose = "certificate_purpose"
    case certificateRevoked = "certificate_revoked"
    case signatureInvalid = "signature_invalid"
    case payloadMalformed = "payload_malformed"
    case bundleMismatch = "bundle_mismatch"
    case appMismatch = "app_mismatch"
    case environmentMismatch = "environment_mismatch"
    case itemMismatch = "item_mismatch"
    case claimMismatch = "claim_mismatch"
    case receiptMalformed = "receipt_malformed"
    /// The body is a transaction receipt in the style of iOS 6.
    case receiptUnsupported = "receipt_unsupported"
    case receiptSignatureInvalid = "receipt_signature_invalid"
    case transactionConflict = "transaction_conflict"
    /// The record is not an observation; set only after `verify-worker`.
    case observationMalformed = "observation_malformed"
    /// PostgreSQL will never accept the record; set only after `verify-worker`.
    case notStorable = "not_storable"

    /// The class of the reason, which determines who must investigate it.
    package var deadLetterClass: DeadLetterClass {
        switch self {
        case .algorithmNotAllowed, .x5cMissing, .x5cLength, .rootUntrusted, .chainInvalid, .certificatePurpose,
            .signatureInvalid, .receiptSignatureInvalid:
            .forged
        case .envelopeMalformed, .bodyUnrecognized, .payloadTooLarge, .jwsMalformed, .certificateMalformed,
            .payloadMalformed, .receiptMalformed, .receiptUnsupported, .observationMalformed, .notStorable:
            .corrupt
        case .bundleMismatch, .appMismatch, .environmentMismatch: .misrouted
        case .certificateNotValidAtSigning, .certificateRevoked: .stale
        case .itemMismatch, .claimMismatch, .transactionConflict: .conflict
        }
    }

    /// Whether the signatures are valid and only the settings lack the app; the breaker against wrong settings counts
    /// such refusals.
    package var isSettingsDependent: Bool { deadLetterClass == .misrouted }
}

/// The classes of refusals, in the header `dlq.class`.
package enum DeadLetterClass: String, Sendable, CaseIterable {
    /// A body not signed by Apple: a forgery, or a test root that is missing in the settings.
    case forged
    /// A body not produced by Apple or the app: truncated, re-encoded, or of no known form.
    case corrupt
    /// A genuine body for an app or environment that is not configured.
    case misrouted
    /// A once genuine body: the certificate was not valid at the date of signing, or was revoked.
    case stale
    /// A genuine body that contradicts itself or earlier data.
    case conflict
}
