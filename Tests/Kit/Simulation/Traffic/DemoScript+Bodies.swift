import OpenSSL

extension DemoScript {
    /// The app posts its transaction, in one of the usual shapes.
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
                    ])
            }
        post(body, as: .purchase, bundleID: purchase.app.bundleID)
    }

    /// Publishes Apple's notification with the transaction, and the renewal info of a subscription.
    mutating func notify(
        _ type: String, _ subtype: String? = nil, of purchase: DemoPurchase, as kind: DemoKind, status: Int64? = nil
    ) throws(KeyError) {
        let value = try notification(type, subtype, of: purchase, status: status)
        publish(value, as: kind, key: Array(purchase.app.bundleID.utf8))
    }

    mutating func notification(
        _ type: String, _ subtype: String? = nil, of purchase: DemoPurchase, status: Int64? = nil,
        adjusting adjust: (inout NotificationDataFields) -> Void = { _ in }
    ) throws(KeyError) -> [UInt8] {
        let signed = try signedNotification(type, subtype, of: purchase, status: status, adjusting: adjust)
        return Body.notification(signed)
    }

    /// The JWS alone; the UUID is the first number that it draws.
    mutating func signedNotification(
        _ type: String, _ subtype: String?, of purchase: DemoPurchase, status: Int64? = nil,
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
        return try authority.sign(notification.json)
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// A JSON string of plain characters, or null.
    static func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "null" }
}

extension DemoScript {
    /// An old app posts its receipt: of a customer without other records, or of purchases that
    /// Apple has already sent notifications about.
    mutating func writeOldApp() throws(KeyError) {
        try writeVeteran()
        let user = customer()
        let purchase = try writeSubscription(of: user, months: 2)
        users[user].entitlements.formUnion(DemoProduct.monthly.entitlements)
        try post(receiptWith: [purchase], at: now - 2 * Self.day)
    }

    /// Writes a customer of long ago, whose app posts receipts only and whose purchases are linked
    /// by their IDs.
    private mutating func writeVeteran() throws(KeyError) {
        let user = DemoUser(userID: "veteran-\(users.count)", accountToken: nil)
        users.append(user)
        var purchases: [DemoPurchase] = []
        for (product, daysAgo) in [(DemoProduct.monthly, Int64(12)), (.lifetime, 900)] {
            var purchase = buy(product, token: nil, at: now - daysAgo * Self.day)
            if product == .monthly { purchase.cover(until: now + 18 * Self.day) }
            purchases.append(purchase)
            let id = purchase.transaction.originalTransactionID ?? ""
            link(.originalTransactionID, id, to: user)
            users[users.count - 1].entitlements.formUnion(product.entitlements)
        }
        try post(receiptWith: purchases, at: now - 3 * Self.day)
    }

    private mutating func post(receiptWith purchases: [DemoPurchase], at date: Int64) throws(KeyError) {
        var form = ReceiptForm()
        if Bool.random(using: &generator) { form.pieceBytes = 1_000 }
        let text = try receiptAuthority.receiptText(receipt(of: purchases, at: date), form)
        let isBare = Bool.random(using: &generator)
        let body = isBare ? text : Body.receipt(text)
        post(body, as: .receipt, bundleID: DemoApp.pro.bundleID)
    }

    func receipt(of purchases: [DemoPurchase], at date: Int64) -> ReceiptFields {
        var receipt = ReceiptFields(of: purchases.first?.app ?? .pro)
        receipt.creationDate = date
        receipt.records = purchases.map { ReceiptRecordFields($0.transaction) }
        return receipt
    }

    /// The genuine signature under other content: one more purchase.
    func forgedReceipt(of purchase: DemoPurchase) throws(KeyError) -> [UInt8] {
        var form = ReceiptForm()
        form.shownContent = receipt(of: [purchase], at: now - Self.day).content
        let genuine = receipt(of: [], at: now - Self.day)
        return Body.receipt(try receiptAuthority.receiptText(genuine, form))
    }

    /// A property list in text, which is no longer verified.
    func legacyReceipt(of purchase: DemoPurchase) -> [UInt8] {
        let id = purchase.transaction.transactionID ?? ""
        let info = "{\n\"transaction-id\" = \"\(id)\";\n}\n"
        let encoded = Self.text(Base64Text.standard(Array(info.utf8)))
        let list = "{\n\"signature\" = \"AAAA\";\n\"purchase-info\" = \"\(encoded)\";\n}\n"
        return Body.receipt(Base64Text.standard(Array(list.utf8)))
    }
}

extension ReceiptFields {
    /// A receipt of an app, without records.
    init(of app: DemoApp) {
        receiptType = app.environment == "Sandbox" ? "ProductionSandbox" : "Production"
        appAppleID = Int(app.appAppleID)
        bundleID = app.bundleID
    }
}
