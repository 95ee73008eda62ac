import OpenSSL

extension DemoScript {
    /// The app posts its transaction, in one of the ways apps do.
    mutating func post(_ purchase: DemoPurchase) throws(KeyError) {
        let jws = try authority.sign(purchase.transaction.json)
        let body: [UInt8] =
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: jws
            case 1: Body.transaction(jws)
            default:
                Body.transaction(
                    jws,
                    claims: [
                        "productID": Self.quoted(purchase.transaction.productID),
                        "transactionID": Self.quoted(purchase.transaction.transactionID),
                    ]
                )
            }
        post(body, as: .purchase, bundleID: purchase.app.bundleID)
    }

    /// Apple posts a notification with the transaction, and the renewal info of a subscription.
    mutating func notify(
        _ type: String,
        _ subtype: String? = nil,
        of purchase: DemoPurchase,
        as kind: DemoKind,
        status: Int64? = nil
    ) throws(KeyError) {
        let value = try notification(type, subtype, of: purchase, status: status)
        publish(value, as: kind, key: Array(purchase.app.bundleID.utf8))
    }

    mutating func notification(
        _ type: String,
        _ subtype: String? = nil,
        of purchase: DemoPurchase,
        status: Int64? = nil,
        adjusting adjust: (inout NotificationDataFields) -> Void = { _ in }
    ) throws(KeyError) -> [UInt8] {
        var data = NotificationDataFields()
        data.bundleID = purchase.app.bundleID
        data.environment = purchase.app.environment
        data.appAppleID = purchase.app.appAppleID
        data.signedTransactionInfo = try Self.text(authority.sign(purchase.transaction.json))
        if purchase.transaction.expiresDate != nil {
            data.signedRenewalInfo = try Self.text(authority.sign(purchase.renewal.json))
            data.status = status ?? 1
        }
        adjust(&data)
        var notification = NotificationFields()
        notification.notificationType = type
        notification.subtype = subtype
        notification.notificationUUID = generator.uuid()
        notification.signedDate = purchase.transaction.signedDate
        notification.data = data.json
        return Body.notification(try authority.sign(notification.json))
    }

    static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// A JSON string of plain characters, or null.
    static func quoted(_ text: String?) -> String {
        text.map { "\"\($0)\"" } ?? "null"
    }
}
