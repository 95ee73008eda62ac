import OpenSSL

extension DemoScript {
    /// Shares another customer's subscription: no token, known by the app transaction alone.
    mutating func writeFamilyMember() throws(KeyError) {
        let user = DemoUser(userID: "family-\(users.count)", accountToken: nil)
        users.append(user)
        let appTransactionID = String(704_000_000_000_000_000 + Int64(users.count))
        link(.appTransactionID, appTransactionID, to: user)
        let date = now - 8 * Self.day
        var purchase = buy(.monthly, token: nil, appTransactionID: appTransactionID, at: date)
        purchase.transaction.inAppOwnershipType = "FAMILY_SHARED"
        purchase.cover(until: now + 22 * Self.day)
        try notify("SUBSCRIBED", "INITIAL_BUY", of: purchase, as: .subscribed)
        users[users.count - 1].entitlements = DemoProduct.monthly.entitlements
        var app = AppTransactionFields()
        app.appTransactionID = appTransactionID
        app.receiptCreationDate = date
        app.originalPurchaseDate = now - 300 * Self.day
        post(try authority.sign(app.json), as: .appTransaction, bundleID: DemoApp.pro.bundleID)
    }

    /// Renewals without the token that the purchase had, or a purchase that never had one.
    mutating func writeTokenless() throws(KeyError) {
        let isOwned = Bool.random(using: &generator)
        let user = isOwned ? customer() : nil
        let start = now - 40 * Self.day
        let token = user.flatMap { users[$0].accountToken }
        var purchase = buy(.monthly, token: token, at: start)
        purchase.cover(until: start + 30 * Self.day)
        try post(purchase)
        purchase.transaction.appAccountToken = nil
        purchase.renewal.appAccountToken = nil
        purchase.renew(id: nextTransactionID(), until: start + 60 * Self.day)
        try notify("DID_RENEW", of: purchase, as: .renewal)
        publish(try authority.sign(purchase.renewal.json), as: .renewalInfo)
        if let user { users[user].entitlements.formUnion(DemoProduct.monthly.entitlements) }
    }

    /// Buys in the Sandbox, which must grant nothing in Production.
    mutating func writeSandboxTester() throws(KeyError) {
        let user = customer()
        _ = try writeSubscription(of: user, months: 1, app: .proSandbox)
        users[user].sandboxEntitlements.formUnion(DemoProduct.monthly.entitlements)
    }

    /// A history fetched from Apple's server: all periods at once, with later signed dates.
    mutating func writeBackfill() throws(KeyError) {
        let user = customer()
        let start = now - 80 * Self.day
        let token = users[user].accountToken?.uppercased()
        var purchase = buy(.monthly, token: token, at: start)
        var history: [[UInt8]] = []
        purchase.cover(until: start + 30 * Self.day)
        for period in 1...3 {
            purchase.sign(at: now - Self.day)
            history.append(try authority.sign(purchase.transaction.json))
            guard period < 3 else { break }
            let end = start + Int64(period + 1) * 30 * Self.day
            purchase.renew(id: nextTransactionID(), until: end)
        }
        purchase.sign(at: now - Self.day)
        publish(
            Body.history(
                history,
                members: ["environment": "\"Production\"", "bundleId": "\"com.example.pro\"", "hasMore": "false"]),
            as: .history)
        let statuses = Body.subscriptionStatuses(
            environment: "Production", bundleID: DemoApp.pro.bundleID,
            originalTransactionID: purchase.transaction.originalTransactionID ?? "",
            transaction: try authority.sign(purchase.transaction.json),
            renewal: try authority.sign(purchase.renewal.json))
        publish(statuses, as: .status)
        users[user].entitlements.formUnion(DemoProduct.monthly.entitlements)
    }

    /// Bodies without a purchase: a test, the summary of an extension, a response without items.
    mutating func writeNotices() throws(KeyError) {
        var test = NotificationFields()
        test.notificationUUID = generator.uuid()
        test.signedDate = now - Self.day
        test.data = NotificationDataFields().json
        publish(Body.notification(try authority.sign(test.json)), as: .notice)

        var summary = NotificationFields()
        summary.notificationType = "RENEWAL_EXTENSION"
        summary.subtype = "SUMMARY"
        summary.notificationUUID = generator.uuid()
        summary.signedDate = now - Self.day
        summary.summary = Array(
            """
            {"environment":"Production","appAppleId":1234567890,"bundleId":"com.example.pro",\
            "productId":"com.example.pro.monthly","requestIdentifier":"\(generator.uuid())",\
            "storefrontCountryCodes":["USA","FRA"],"succeededCount":5,"failedCount":2}
            """.utf8)
        publish(Body.notification(try authority.sign(summary.json)), as: .notice)
        publish(Body.history([]), as: .emptyResponse)
    }
}
