import JSON

extension NotificationPayload {
    /// What the notification is about; Apple sends exactly one of the four.
    var subject: NotificationSubject? {
        data ?? summary ?? externalPurchaseToken ?? appData
    }

    /// Whether what should be a JWS inside is neither a string nor null: it may be a purchase.
    var hasUnreadableItem: Bool {
        [
            data?.json["signedTransactionInfo"], data?.json["signedRenewalInfo"],
            appData?.json["signedAppTransactionInfo"],
        ].contains { $0.map { $0.kind != .string && !$0.isNull } ?? false }
    }

    /// The JWS inside, in the order of the text; null is none, an empty string is one.
    var signedItems: [(token: Token, kind: PayloadKind)] {
        var items: [(token: Token, kind: PayloadKind)] = []
        if let data {
            for (key, value) in data.json.members {
                guard let token = Token(value) else { continue }
                if key.isString("signedTransactionInfo") {
                    items.append((token, .transaction))
                } else if key.isString("signedRenewalInfo") {
                    items.append((token, .renewalInfo))
                }
            }
        }
        if let token = (appData?.json["signedAppTransactionInfo"]).flatMap(Token.init) {
            items.append((token, .appTransaction))
        }
        return items
    }
}
