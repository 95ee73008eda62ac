import JSON

extension SignedFields {
    /// Refuses a payload without the fields that make it what it is.
    ///
    /// An absent bundle ID is left to the app's rule, which names it apart: genuine payloads
    /// without one exist.
    func checkRequired(_ payload: JSONValue) throws(Fault) {
        switch self {
        case .transaction(let fields):
            try Self.require(fields.transactionID != nil, "transactionId")
            try Self.require(fields.originalTransactionID != nil, "originalTransactionId")
            try Self.require(fields.bundleID != nil || Self.lacksBundle(payload), "bundleId")
            try Self.require(fields.environment != nil, "environment")
            try Self.require(fields.productID != nil, "productId")
            try Self.require(fields.purchaseDate != nil, "purchaseDate")
        case .renewalInfo(let fields):
            try Self.require(fields.originalTransactionID != nil, "originalTransactionId")
        case .appTransaction(let fields):
            try Self.require(fields.bundleID != nil || Self.lacksBundle(payload), "bundleId")
        case .notification(let fields):
            try Self.require(fields.type != nil, "notificationType")
            guard !fields.hasUnreadableItem else {
                throw Fault(.payloadMalformed, "an item inside the notification is no string")
            }
        }
    }

    private static func require(_ isPresent: Bool, _ name: StaticString) throws(Fault) {
        guard isPresent else {
            throw Fault(.payloadMalformed, "\(name) is missing or not as it must be")
        }
    }

    private static func lacksBundle(_ payload: JSONValue) -> Bool {
        payload["bundleId"].map(\.isNull) ?? true
    }
}
