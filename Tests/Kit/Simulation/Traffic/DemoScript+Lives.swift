import OpenSSL

extension DemoScript {
    /// Writes a customer of every kind, so that the smallest demo shows each.
    mutating func writeOneOfEachLife() throws(KeyError) {
        for dice in stride(from: 0, to: 100, by: 5) { try writeLife(dice) }
    }

    /// - Parameter dice: 0 to 99; selects the kind of history, the common ones more often.
    mutating func writeLife(_ dice: Int) throws(KeyError) {
        switch dice {
        case 0..<15: try writeSubscriber()
        case 15..<20: try writeLinkedSubscriber()
        case 20..<25: try writeLapsedSubscriber()
        case 25..<30: try writeUpgrade()
        case 30..<40: try writeLifetime()
        case 40..<45: try writeRefund(isReversed: false)
        case 45..<50: try writeRefund(isReversed: true)
        case 50..<60: try writeCoins()
        case 60..<65: try writeOldApp()
        case 65..<70: try writeSeason()
        case 70..<75: try writeGrace(isRecovered: Bool.random(using: &generator))
        case 75..<80: try writeFamilyMember()
        case 80..<85: try writeTokenless()
        case 85..<90: try writeSandboxTester()
        case 90..<95: try writeBackfill()
        default: try writeNotices()
        }
    }

    /// Buys a month and renews it; the current period has twenty days to go.
    mutating func writeSubscriber() throws(KeyError) {
        let user = customer()
        let purchase = try writeSubscription(of: user, months: Int.random(in: 1...6, using: &generator))
        users[user].entitlements.formUnion(DemoProduct.monthly.entitlements)
        settled.append(purchase.transaction)
    }

    mutating func writeLinkedSubscriber() throws(KeyError) {
        let user = linkedCustomer()
        let purchase = try writeSubscription(of: user, months: 2)
        users[user].entitlements.formUnion(DemoProduct.monthly.entitlements)
        settled.append(purchase.transaction)
    }

    /// Writes periods of thirty days; the last began ten days before `end`.
    mutating func writeSubscription(of user: Int, months: Int, lastPeriodBegan: Int64? = nil, app: DemoApp = .pro)
        throws(KeyError) -> DemoPurchase
    {
        let month = 30 * Self.day
        let last = lastPeriodBegan ?? now - 10 * Self.day
        let start = last - Int64(months - 1) * month
        var purchase = buy(.monthly, app: app, token: users[user].accountToken, at: start)
        purchase.cover(until: start + month)
        try post(purchase)
        try notify("SUBSCRIBED", "INITIAL_BUY", of: purchase, as: .subscribed)
        for period in 1..<max(1, months) {
            purchase.renew(id: nextTransactionID(), until: start + Int64(period + 1) * month)
            try notify("DID_RENEW", of: purchase, as: .renewal)
        }
        return purchase
    }

    /// Writes a customer who switched renewal off and whose subscription ended ten days ago.
    mutating func writeLapsedSubscriber() throws(KeyError) {
        let user = customer()
        let began = now - 40 * Self.day
        var purchase = try writeSubscription(of: user, months: 3, lastPeriodBegan: began)
        purchase.renewal.autoRenewStatus = 0
        purchase.sign(at: began + 5 * Self.day)
        try notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: purchase, as: .renewalStatus)
        purchase.renewal.expirationIntent = 1
        purchase.sign(at: now - 10 * Self.day + 60_000)
        try notify("EXPIRED", "VOLUNTARY", of: purchase, as: .expiry, status: 2)
    }

    /// Changes from monthly to premium in the middle of a period.
    mutating func writeUpgrade() throws(KeyError) {
        let user = customer()
        var purchase = try writeSubscription(of: user, months: 1)
        var replaced = purchase.transaction
        let date = now - 5 * Self.day
        purchase.name(DemoProduct.premium.rawValue)
        purchase.transaction.price = DemoProduct.premium.price
        purchase.renew(id: nextTransactionID(), from: date, until: date + 30 * Self.day)
        purchase.transaction.transactionReason = "PURCHASE"
        try notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", of: purchase, as: .upgrade)
        replaced.isUpgraded = true
        replaced.signedDate = date + 2_000
        publish(Body.history([try authority.sign(replaced.json)]), as: .history)
        users[user].entitlements.formUnion(DemoProduct.premium.entitlements)
        settled += [replaced, purchase.transaction]
    }

    /// Writes a subscriber whose last period ended two days ago unpaid, with grace for fourteen
    /// days more.
    mutating func writeGrace(isRecovered: Bool) throws(KeyError) {
        let user = customer()
        let began = now - 32 * Self.day
        var purchase = try writeSubscription(of: user, months: 2, lastPeriodBegan: began)
        purchase.renewal.isInBillingRetryPeriod = true
        purchase.renewal.expirationIntent = 2
        purchase.renewal.gracePeriodExpiresDate = now + 14 * Self.day
        purchase.sign(at: now - 2 * Self.day + 1_000)
        try notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: purchase, as: .billingRetry, status: 4)
        if isRecovered {
            purchase.renewal.isInBillingRetryPeriod = nil
            purchase.renewal.expirationIntent = nil
            purchase.renewal.gracePeriodExpiresDate = nil
            let date = now - Self.day
            purchase.renew(id: nextTransactionID(), from: date, until: date + 30 * Self.day)
            try notify("DID_RENEW", "BILLING_RECOVERY", of: purchase, as: .recovery)
        }
        users[user].entitlements.formUnion(DemoProduct.monthly.entitlements)
    }
}
