import JSON

/// A comparison of the unsigned fields around an item with the signed fields.
struct ClaimCheck {
    private typealias Counterpart = (claim: UnsignedClaim, field: StaticString)

    private let subject: JSONValue
    private let counterparts: [Counterpart]

    private static let purchase: [Counterpart] = [
        (.originalTransactionID, "originalTransactionId"), (.originalTransactionId, "originalTransactionId"),
        (.productID, "productId"), (.productId, "productId"), (.offerID, "offerIdentifier"),
        (.offerIdentifier, "offerIdentifier"), (.environment, "environment"),
    ]
    private static let transaction: [Counterpart] =
        purchase + [
            (.transactionID, "transactionId"), (.transactionId, "transactionId"), (.bundleID, "bundleId"),
            (.bundleId, "bundleId"),
        ]
    private static let appTransaction: [Counterpart] = [
        (.bundleID, "bundleId"), (.bundleId, "bundleId"), (.environment, "receiptType"), (.appAppleId, "appAppleId"),
        (.appTransactionId, "appTransactionId"),
    ]
    private static let receiptFields: [Counterpart] = [
        (.bundleID, "bundleId"), (.bundleId, "bundleId"), (.appAppleId, "appAppleId"),
    ]
    private static let notification: [Counterpart] = [
        (.bundleID, "bundleId"), (.bundleId, "bundleId"), (.environment, "environment"), (.appAppleId, "appAppleId"),
    ]

    /// - Parameter statements: the statements of one item. Claims are compared with the notification if there is one,
    ///   else with the transaction, else with the renewal info.
    init(_ statements: [SignedStatement]) {
        precondition(!statements.isEmpty, "an item has a JWS")
        let principal =
            statements.first { $0.fields.kind == .notification } ?? statements.first { $0.fields.kind == .transaction }
            ?? statements[0]
        switch principal.fields {
        case .transaction: (subject, counterparts) = (principal.json, Self.transaction)
        case .renewalInfo: (subject, counterparts) = (principal.json, Self.purchase)
        case .appTransaction: (subject, counterparts) = (principal.json, Self.appTransaction)
        case .notification(let fields):
            (subject, counterparts) = (fields.subject?.json ?? principal.json, Self.notification)
        }
    }

    private init(_ subject: JSONValue, _ counterparts: [Counterpart]) {
        self.subject = subject
        self.counterparts = counterparts
    }

    /// Compares the claims around a receipt with the receipt and its purchases: one purchase must confirm all claims.
    static func check(_ claims: UnsignedClaims, against receipt: VerifiedReceipt) throws(Fault) {
        try ClaimCheck(receipt.contents.json, receiptFields).check([claims])
        var firstFault: Fault?
        for record in receipt.records {
            do throws(Fault) { return try ClaimCheck(record.json, transaction).check([claims]) } catch {
                firstFault = firstFault ?? error
            }
        }
        if let firstFault { throw firstFault }
    }

    func check(_ claims: [UnsignedClaims?]) throws(Fault) {
        for case let claims? in claims {
            for (claim, field) in counterparts {
                guard let claimed = claims[claim], !claimed.isNull else { continue }
                guard Self.isEqual(claimed, subject[field]) else {
                    throw Fault(.claimMismatch, "\(claim.rawValue) is not what was signed")
                }
            }
        }
    }

    /// Compares byte for byte; an empty text, or a value that is neither text nor number, never matches.
    private static func isEqual(_ claimed: JSONValue, _ signed: JSONValue?) -> Bool {
        guard let signed, signed.kind == claimed.kind else { return false }
        switch claimed.kind {
        case .string:
            guard let text = signed.stringBytes, !text.isEmpty else { return false }
            return claimed.isString(text)
        case .number: return claimed.rawBytes == signed.rawBytes
        case .object, .array, .bool, .null: return false
        }
    }
}

/// The form of an app's claims beside a signed transaction or a receipt: short text.
///
/// `ClaimCheck` refuses a claim of another JSON type.
enum ClaimForm {
    private static let checked: [UnsignedClaim] = [.transactionID, .originalTransactionID, .productID, .offerID]

    static func check(_ claims: UnsignedClaims) throws(Fault) {
        for name in checked {
            guard let claim = claims[name], claim.kind == .string else { continue }
            guard let text = claim.stringBytes, !text.isEmpty, ShortText.isAcceptable(text) else {
                throw Fault(
                    .envelopeMalformed,
                    "\(name.rawValue) is not 1 to \(ShortText.bytesMax) bytes without control characters")
            }
        }
    }
}

/// The unsigned fields beside an item that have a signed counterpart.
typealias UnsignedClaims = KnownMembers<UnsignedClaim>

/// The names of the app's claims and of the API's fields.
enum UnsignedClaim: String, PayloadField {
    case transactionID, transactionId, originalTransactionID, originalTransactionId
    case productID, productId, offerID, offerIdentifier, environment, bundleID, bundleId
    case appAppleId, appTransactionId

    private static let table = FieldTable<UnsignedClaim>()

    static func all(in object: JSONValue) -> UnsignedClaims { UnsignedClaims(of: object, named: table) }
}

extension ObservationClaims {
    /// An app's claims beside the signed transaction.
    ///
    /// Claims other than text are omitted here; `ClaimCheck` refuses such a claim if the transaction has a
    /// counterpart.
    init(_ claims: UnsignedClaims) {
        self.init(
            transactionID: claims[.transactionID]?.string,
            originalTransactionID: claims[.originalTransactionID]?.string, productID: claims[.productID]?.string,
            offerID: claims[.offerID]?.string)
    }
}
