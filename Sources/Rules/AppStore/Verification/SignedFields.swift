import JSON

enum SignedFields {
    case transaction(TransactionPayload)
    case renewalInfo(RenewalPayload)
    case appTransaction(AppTransactionPayload)
    case notification(NotificationPayload)

    /// Recognises each kind by members that only this kind has; null counts as absent.
    ///
    /// `nil` for a kind that Apple introduced after this version.
    init?(_ payload: JSONValue) throws(Fault) {
        guard payload.kind == .object else { throw Fault(.payloadMalformed, "the payload is not a JSON object") }
        let isTransaction = Self.has("transactionId", payload)
        let isNotification = Self.has("notificationType", payload)
        let isAppTransaction = Self.has("receiptCreationDate", payload)
        let isRenewal = Self.has("autoRenewStatus", payload) || Self.has("autoRenewProductId", payload)
        switch (isTransaction, isRenewal, isAppTransaction, isNotification) {
        case (true, false, false, false): self = .transaction(TransactionPayload(payload))
        case (false, true, false, false): self = .renewalInfo(RenewalPayload(payload))
        case (false, false, true, false): self = .appTransaction(AppTransactionPayload(payload))
        case (false, false, false, true): self = .notification(NotificationPayload(payload))
        case (false, false, false, false):
            guard !Self.isRetentionRequest(payload) else {
                throw Fault(.payloadMalformed, "a Retention Messaging request, which the app's server answers at once")
            }
            return nil
        default: throw Fault(.payloadMalformed, "the payload has the fields of two kinds")
        }
    }

    private static func has(_ key: StaticString, _ payload: JSONValue) -> Bool {
        payload[key].map { !$0.isNull } ?? false
    }

    private static func isRetentionRequest(_ payload: JSONValue) -> Bool {
        has("requestIdentifier", payload) && has("userLocale", payload)
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

extension SignedFields {
    /// The nested JWS, which only a notification has.
    var signedItems: [(token: Token, kind: PayloadKind)] {
        guard case .notification(let fields) = self else { return [] }
        return fields.signedItems
    }
}

/// The four kinds of payload that Apple signs and this product accepts.
package enum PayloadKind: String, Sendable, CaseIterable {
    case transaction
    case renewalInfo
    case appTransaction
    case notification
}

extension SignedFields {
    /// Checks that a payload has the required fields of its kind.
    ///
    /// The app's rule checks for an absent bundle ID and reports it separately: genuine payloads without a bundle ID
    /// exist.
    func checkRequired(_ payload: JSONValue) throws(Fault) {
        switch self {
        case .transaction(let fields):
            try Self.require(fields.transactionID != nil, "transactionId")
            try Self.require(fields.originalTransactionID != nil, "originalTransactionId")
            try Self.require(fields.bundleID != nil || Self.lacksBundle(payload), "bundleId")
            try Self.require(fields.environment != nil, "environment")
            try Self.require(fields.productID != nil, "productId")
            try Self.require(fields.purchaseDate != nil, "purchaseDate")
        case .renewalInfo(let fields): try Self.require(fields.originalTransactionID != nil, "originalTransactionId")
        case .appTransaction(let fields):
            try Self.require(fields.bundleID != nil || Self.lacksBundle(payload), "bundleId")
        case .notification(let fields):
            try Self.require(fields.type != nil, "notificationType")
            guard !fields.hasUnreadableItem else {
                throw Fault(.payloadMalformed, "an item inside the notification is not a string")
            }
            guard !fields.hasUnreadableBody else {
                throw Fault(.payloadMalformed, "the body of the notification is not an object")
            }
        }
    }

    private static func require(_ isPresent: Bool, _ name: StaticString) throws(Fault) {
        guard isPresent else { throw Fault(.payloadMalformed, "\(name) is missing or malformed") }
    }

    private static func lacksBundle(_ payload: JSONValue) -> Bool { payload["bundleId"].map(\.isNull) ?? true }
}

extension NotificationPayload {
    /// Whether a member that should be a JWS, and may be a purchase, is neither a string nor null.
    var hasUnreadableItem: Bool {
        [
            data?.json["signedTransactionInfo"], data?.json["signedRenewalInfo"],
            appData?.json["signedAppTransactionInfo"],
        ].contains { $0.map { $0.kind != .string && !$0.isNull } ?? false }
    }

    /// The nested JWS, in the order of the text; null counts as absent, an empty string as a JWS.
    ///
    /// An object with an unknown name may contain purchases too, under the same names as in the known objects.
    var signedItems: [(token: Token, kind: PayloadKind)] {
        var items: [(token: Token, kind: PayloadKind)] = []
        if let body = data ?? newBody {
            for (key, value) in body.json.members {
                guard let token = Token(value) else { continue }
                if key.isString("signedTransactionInfo") {
                    items.append((token, .transaction))
                } else if key.isString("signedRenewalInfo") {
                    items.append((token, .renewalInfo))
                }
            }
        }
        let app = (appData ?? newBody)?.json["signedAppTransactionInfo"]
        if let token = app.flatMap(Token.init) { items.append((token, .appTransaction)) }
        return items
    }
}
