import JSON

/// A payload read as what it is.
enum SignedFields {
    case transaction(TransactionPayload)
    case renewalInfo(RenewalPayload)
    case appTransaction(AppTransactionPayload)
    case notification(NotificationPayload)

    /// Tells the kinds apart by members that only they have; null is no mark.
    init(_ payload: JSONValue) throws(Fault) {
        guard payload.kind == .object else {
            throw Fault(.payloadMalformed, "the payload is no JSON object")
        }
        let isTransaction = Self.has("transactionId", payload)
        let isNotification = Self.has("notificationType", payload)
        let isAppTransaction = Self.has("receiptCreationDate", payload)
        let isRenewal =
            Self.has("autoRenewStatus", payload) || Self.has("autoRenewProductId", payload)
        switch (isTransaction, isRenewal, isAppTransaction, isNotification) {
        case (true, false, false, false):
            self = .transaction(TransactionPayload(payload))
        case (false, true, false, false):
            self = .renewalInfo(RenewalPayload(payload))
        case (false, false, true, false):
            self = .appTransaction(AppTransactionPayload(payload))
        case (false, false, false, true):
            self = .notification(NotificationPayload(payload))
        case (false, false, false, false):
            throw Fault(.payloadMalformed, Self.unknownKind(payload))
        default:
            throw Fault(.payloadMalformed, "the payload has the marks of two kinds")
        }
    }

    private static func has(_ key: StaticString, _ payload: JSONValue) -> Bool {
        payload[key].map { !$0.isNull } ?? false
    }

    private static func unknownKind(_ payload: JSONValue) -> String {
        has("requestIdentifier", payload) && has("userLocale", payload)
            ? "a Retention Messaging request, which the app's server answers at once"
            : "the payload is of no known kind"
    }

    var kind: PayloadKind {
        switch self {
        case .transaction: .transaction
        case .renewalInfo: .renewalInfo
        case .appTransaction: .appTransaction
        case .notification: .notification
        }
    }

    var signedDate: Timestamp? {
        switch self {
        case .transaction(let fields): fields.signedDate
        case .renewalInfo(let fields): fields.signedDate
        case .appTransaction(let fields): fields.signedDate
        case .notification(let fields): fields.signedDate
        }
    }
}
