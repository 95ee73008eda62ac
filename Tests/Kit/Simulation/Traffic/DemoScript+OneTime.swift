import OpenSSL

extension DemoScript {
    mutating func writeLifetime() throws(KeyError) {
        let user = customer()
        let isCatalogued = Int.random(in: 0..<8, using: &generator) > 0
        let product: DemoProduct = isCatalogued ? .lifetime : .uncatalogued
        let purchase = buy(product, token: users[user].accountToken, at: now - 50 * Self.day)
        try post(purchase)
        try notify("ONE_TIME_CHARGE", of: purchase, as: .oneTimeCharge)
        users[user].entitlements.formUnion(product.entitlements)
        settled.append(purchase.transaction)
    }

    /// Writes a purchase that is refunded; Apple reverses some refunds.
    mutating func writeRefund(isReversed: Bool) throws(KeyError) {
        let user = customer()
        var purchase = buy(.lifetime, token: users[user].accountToken, at: now - 40 * Self.day)
        try post(purchase)
        let bought = purchase.transaction
        purchase.transaction.revocationDate = now - 30 * Self.day
        purchase.transaction.revocationReason = 1
        purchase.transaction.revocationType = "REFUND_FULL"
        purchase.sign(at: now - 30 * Self.day + 1_000)
        try notify("REFUND", of: purchase, as: .refund)
        if isReversed {
            purchase.transaction = bought
            purchase.sign(at: now - 20 * Self.day)
            try notify("REFUND_REVERSED", of: purchase, as: .refundReversal)
            users[user].entitlements.formUnion(DemoProduct.lifetime.entitlements)
        }
        settled.append(purchase.transaction)
    }

    /// Buys coins several times; one purchase in four is refunded by half.
    mutating func writeCoins() throws(KeyError) {
        let user = customer()
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let product: DemoProduct = Bool.random(using: &generator) ? .coins100 : .coins500
            let bought = now - Int64.random(in: 5...60, using: &generator) * Self.day
            let token = users[user].accountToken
            var purchase = buy(product, app: .coins, token: token, at: bought)
            try post(purchase)
            users[user].coins += product.coins
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let date = bought + Self.day
                purchase.transaction.revocationDate = date
                purchase.transaction.revocationReason = 0
                purchase.transaction.revocationType = "REFUND_PRORATED"
                purchase.transaction.revocationPercentage = 50_000
                purchase.sign(at: date + 1_000)
                try notify("REFUND", of: purchase, as: .refund)
                users[user].coins -= product.coins / 2
            }
            settled.append(purchase.transaction)
        }
    }

    /// Writes a season of ninety days, of which sixty are left.
    mutating func writeSeason() throws(KeyError) {
        let user = customer()
        let purchase = buy(.season, token: users[user].accountToken, at: now - 30 * Self.day)
        try post(purchase)
        users[user].entitlements.formUnion(DemoProduct.season.entitlements)
    }
}
