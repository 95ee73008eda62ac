import AppStore

/// The reason for which this verifier is right where its verdict differs from that of Apple's
/// Python library.
struct ExplainedDifference: Sendable {
    let why: String
    let explains: @Sendable (Difference) -> Bool

    static func explaining(_ difference: Difference) -> ExplainedDifference? { all.first { $0.explains(difference) } }

    /// Explains bodies that are refused here, with these words in the detail, and accepted by
    /// Apple's library.
    private static func refused(_ reason: RefusalReason, _ words: String, _ why: String) -> ExplainedDifference {
        ExplainedDifference(why: why) { difference in
            guard let ours = difference.ours else { return false }
            return ours.reason == reason && ours.detail.contains(words)
        }
    }

    /// Explains bodies that are accepted here and refused by Apple's library with this status.
    private static func accepted(_ status: String, _ mutations: [String], _ why: String) -> ExplainedDifference {
        ExplainedDifference(why: why) { difference in
            difference.ours == nil && difference.theirs.hasPrefix(status)
                && mutations.contains { difference.mutation.hasPrefix($0) }
        }
    }

    static let all = [
        refused(.jwsMalformed, "base64url", "RFC 7515 §2 has no padding and one spelling; Python's decoder is lenient"),
        refused(
            .jwsMalformed, "not acceptable JSON",
            "RFC 7515 §4 lets a parser refuse doubled header names, and NaN is no JSON"),
        refused(.jwsMalformed, "b64", "RFC 7797 changes what is signed; nothing of Apple's has the member"),
        refused(.chainInvalid, "weak digest", "no certificate of Apple's JWS is signed over SHA-1, which collides"),
        refused(.chainInvalid, "below 2048 bits", "a CA's key of 1,024 bits is within reach of a forger"),
        refused(
            .certificatePurpose, "the leaf", "a CA, or a key that is not for signing, is not Apple's receipt signer"),
        refused(
            .certificateMalformed, "does not parse",
            "Apple's library never reads the third certificate, and bytes behind one are no DER"),
        refused(
            .payloadMalformed, "not acceptable JSON",
            "NaN is no JSON; NUL and lone surrogates are nothing that a database holds"),
        refused(.payloadMalformed, "no signed date", "without it Apple's library asks whether the chain is valid now"),
        refused(
            .payloadMalformed, " belongs", "every field of Apple's models is optional, so one kind decodes as another"),
        refused(
            .payloadMalformed, "of no known kind",
            "every field of Apple's models is optional, so anything decodes as any kind"),
        refused(
            .payloadMalformed, "is missing or malformed",
            "a purchase without its IDs, product or date cannot be recorded"),
        ExplainedDifference(why: "a notification that names no app is new or Apple's own, and nothing is recorded") {
            difference in difference.isIgnored && difference.theirs.hasPrefix("INVALID_APP_IDENTIFIER")
        },
        accepted(
            "INVALID_APP_IDENTIFIER", ["payload rewritten"],
            "with another name than data, an object says as well whose a notification is"),
        accepted("EXCEPTION", [""], "what Apple signed is carried; a field of another type counts as absent"),
        accepted(
            "VERIFICATION_FAILURE", ["claim "], "a payload of Apple's is no JWT, so no claim of JWT has a meaning in it"
        ), accepted("VERIFICATION_FAILURE", ["header \"kid\""], "the header's key ID selects nothing, whatever it is"),
        accepted(
            "VERIFICATION_FAILURE",
            [
                "leaf without authority key identifier", "intermediate without subject key identifier",
                "intermediate without key usage",
            ], "extensions that restrict nothing may be absent, as they are in Apple's own mock chain"),
    ]
}
