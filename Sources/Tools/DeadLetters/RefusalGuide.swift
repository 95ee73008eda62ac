package import AppStore

/// The meaning of a reason, for people: the rule that was broken and what to do.
package struct RefusalGuide: Sendable, Equatable {
    /// The rule, in the words of `AppStore/VERIFICATION.md`.
    package let rule: String
    package let advice: String

    package init(_ reason: RefusalReason) {
        (rule, advice) =
            switch reason.deadLetterClass {
            case .forged: Self.forged(reason)
            case .corrupt: Self.corrupt(reason)
            case .misrouted: Self.misrouted(reason)
            case .stale: Self.stale(reason)
            case .conflict: Self.conflict(reason)
            }
    }

    /// The meaning of a class of reasons.
    package static func meaning(of deadLetterClass: DeadLetterClass) -> String {
        switch deadLetterClass {
        case .forged: "Not signed by Apple: a forgery, or a test root that is missing in the settings."
        case .corrupt: "Not what Apple or the app produced: truncated, re-encoded, of no known form."
        case .misrouted: "Genuine, but of an app or an environment that is not configured."
        case .stale: "Genuine once: the certificate was not valid then, or was revoked."
        case .conflict: "Genuine, but contradicts itself or what is known."
        }
    }

    private typealias Texts = (rule: String, advice: String)

    private static func forged(_ reason: RefusalReason) -> Texts {
        switch reason {
        case .algorithmNotAllowed:
            (
                "The header's alg is the string ES256.",
                "Nobody but Apple signs for the App Store, and Apple uses ES256: look at who sent it."
            )
        case .x5cMissing:
            (
                "The header's x5c is an array of exactly three strings in standard base64.",
                "A JWS without a chain has no known signer: look at who sent it."
            )
        case .x5cLength:
            (
                "The header's x5c holds exactly three certificates; one only for an app of the "
                    + "environment Xcode or LocalTesting.",
                "If it comes from Xcode, configure the app for that environment and replay; else "
                    + "look at who sent it."
            )
        case .rootUntrusted:
            (
                "The chain ends in one of Apple's pinned roots, or in a root that is configured "
                    + "for this app in this environment.",
                "If it is your own test root, name it in the app's roots and replay. Else somebody "
                    + "signs with a chain of their own: find the source."
            )
        case .chainInvalid:
            (
                "Each certificate is signed by the next one and names it; issuers are CAs, keys "
                    + "and algorithms are strong, critical extensions are known.",
                "A chain put together from parts: find the source."
            )
        case .certificatePurpose:
            (
                "The leaf is no CA, has a key on P-256 and its marker OID; the intermediate is a "
                    + "CA and has its marker OID.",
                "A certificate that Apple issued for another purpose: find the source."
            )
        case .receiptSignatureInvalid:
            (
                "A receipt has one signer and three certificates, and its signature is good.",
                "Altered after Apple signed it, or never signed by Apple: find the source."
            )
        default:
            (
                "The signature over header and payload is good under the leaf's key.",
                "Altered after Apple signed it, or never signed by Apple: find the source. If a "
                    + "client re-encodes bodies, correct the client."
            )
        }
    }

    private static func corrupt(_ reason: RefusalReason) -> Texts {
        switch reason {
        case .envelopeMalformed:
            (
                "A JSON body is UTF-8 without a byte order mark, without a key twice in an object, "
                    + "NUL or lone surrogates, at most 64 levels deep.",
                "Find what truncates or re-encodes bodies on their way; ask for the purchase again."
            )
        case .bodyUnrecognized:
            (
                "A body is JSON of a known shape, a JWS or a receipt.",
                "Look at the original: a client may post something else to this endpoint."
            )
        case .payloadTooLarge:
            (
                "A body has at most verify.body_bytes_max bytes and verify.items_max items.",
                "If it is genuine, raise the setting and replay; else somebody is testing the limits."
            )
        case .jwsMalformed:
            (
                "A JWS has exactly three segments in base64url without padding, a signature of 64 "
                    + "bytes, and a header without crit and b64.",
                "Find what cuts or re-encodes tokens on their way; ask for the purchase again."
            )
        case .certificateMalformed:
            (
                "A certificate is DER, X.509 version 3, at most 8 KiB, and nothing follows it.",
                "Find what alters tokens on their way; many from one source are an attack."
            )
        case .receiptMalformed:
            (
                "A receipt is base64 of one PKCS #7 container, with known attributes once.",
                "Find what cuts or re-encodes receipts; the app can refresh its receipt."
            )
        case .receiptUnsupported:
            (
                "Transaction receipts in the style of iOS 6 are not read.",
                "Ask Apple's App Store Server API for the transaction, and publish its answer."
            )
        case .observationMalformed:
            (
                "What verify-worker forwards is an observation that the later stages read.",
                "Somebody else writes to that topic, or versions differ: check both."
            )
        case .notStorable:
            (
                "PostgreSQL takes the record.",
                "No column can hold one of its values: report it with the detail; replay after the fix."
            )
        default:
            (
                "A signed payload is a JSON object of one known kind with its required fields, each of its type.",
                "Look at the detail: Apple may have added a kind that this version does not know. "
                    + "Replay after an update."
            )
        }
    }

    private static func misrouted(_ reason: RefusalReason) -> Texts {
        switch reason {
        case .appMismatch:
            (
                "In Production the payload's Apple ID is the configured app's.",
                "Compare app_apple_id in the settings with App Store Connect; replay once it is right."
            )
        case .environmentMismatch:
            (
                "The payload's environment is one that is configured for its app.",
                "Sandbox traffic on Production's endpoint, or a missing entry in apps: add it and "
                    + "replay, or resolve."
            )
        default:
            (
                "The payload's bundle ID is that of a configured app.",
                "A new app is missing in apps: add it and replay. Else it is another company's purchase: resolve."
            )
        }
    }

    private static func stale(_ reason: RefusalReason) -> Texts {
        switch reason {
        case .certificateRevoked:
            (
                "What was signed from the second of a certificate's revocation on is refused.",
                "Ask Apple for the purchase again, which signs it again; look at who sent the old one."
            )
        default:
            (
                "The signed date lies within the validity of leaf, intermediate and root.",
                "Ask Apple for the purchase again, which signs it again."
            )
        }
    }

    private static func conflict(_ reason: RefusalReason) -> Texts {
        switch reason {
        case .itemMismatch:
            (
                "What one body holds agrees on bundle ID, environment and original transaction ID.",
                "Parts of several bodies put together: look at who sent it."
            )
        case .claimMismatch:
            (
                "An unsigned field that has a signed counterpart equals it byte for byte.",
                "A client that claims what Apple did not sign: look at who sent it."
            )
        default:
            (
                "Original transaction ID, product, purchase date, type and quantity of a "
                    + "transaction never change.",
                "Compare with the stored facts (pipeline explain) and ask Apple for the transaction."
            )
        }
    }
}
