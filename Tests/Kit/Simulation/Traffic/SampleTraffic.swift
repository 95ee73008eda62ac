import JSON
package import OpenSSL

/// An act of a customer, in one body or two.
package enum SampleKind: String, CaseIterable, Sendable {
    case purchase, renewal, refund, grace, upgrade, consumable, notification, receipt, forged
    /// A customer asks Apple for the refund of a consumable.
    case refundRequest = "refund-request"

    var isConsumable: Bool { self == .consumable || self == .refundRequest }

    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}

/// The acts of customers of any app: their bodies, and the catalog of what they buy.
package struct SampleTraffic: Sendable {
    private let app: DemoApp
    private let kind: SampleKind
    private let productID: String

    /// - Parameter productID: nil for one named after the app.
    package init(_ kind: SampleKind, of productID: String?, in app: DemoApp) {
        self.app = app
        self.kind = kind
        self.productID = productID ?? app.bundleID + (kind.isConsumable ? Self.coins : Self.pro)
    }

    private static let (pro, premium, coins) = (".pro", ".premium", ".coins")

    /// The catalog of all kinds: the subscription grants `pro`, its upgrade `premium` too, and the
    /// consumable credits 100 `coins`.
    package var catalog: [UInt8] {
        let isConsumable = kind.isConsumable
        let subscriptionID = isConsumable ? app.bundleID + Self.pro : productID
        let consumable: JSONContent = ["type": "consumable", "credits": ["coins": 100] as JSONContent]
        var products: [String: JSONContent] = [:]
        products[app.bundleID + Self.coins] = consumable
        products[subscriptionID] = subscription(["pro"], level: 2)
        products[subscriptionID + Self.premium] = subscription(["pro", "premium"], level: 1)
        if isConsumable { products[productID] = consumable }
        let catalog: JSONContent = ["products": products]
        return catalog.bytes
    }

    private func subscription(_ entitlements: [String], level: Int) -> JSONContent {
        [
            "type": "auto-renewable", "entitlements": entitlements, "group": DemoProduct.subscriptionGroup,
            "level": level,
        ]
    }

    /// The bodies of as many customers, in transactions of which no other run has one.
    ///
    /// - Parameters:
    ///   - tokens: the account token of each customer.
    ///   - now: the moment at which their subscriptions run, in milliseconds since 1970.
    /// - Returns: also the original transaction ID of each customer's purchase.
    package func bodies(of tokens: [String], now: Int64, signers: DemoSigners) throws(KeyError) -> (
        bodies: [[UInt8]], originals: [String]
    ) {
        var script = DemoScript(seed: .random(in: .min ... .max), now: now, signers: signers)
        script.drawTransactionIDs()
        var originals: [String] = []
        for token in tokens {
            let id = script.nextTransactionID()
            originals.append(id)
            try write(token, id, to: &script)
        }
        return (script.items.compactMap(\.value), originals)
    }

    private func write(_ token: String, _ id: String, to script: inout DemoScript) throws(KeyError) {
        let (month, now) = (30 * DemoScript.day, script.now)
        let isOver = kind == .renewal || kind == .grace
        var purchase = DemoPurchase(
            kind.isConsumable ? .coins100 : .monthly, id: id, app: app, token: token,
            purchaseDate: now - (isOver ? 40 : 10) * DemoScript.day)
        purchase.name(productID)
        let end = (purchase.transaction.purchaseDate ?? now) + month
        if !kind.isConsumable { purchase.cover(until: end) }
        let payload = purchase.transaction.json
        switch kind {
        case .notification: return try script.notify("SUBSCRIBED", "INITIAL_BUY", of: purchase, as: .subscribed)
        case .receipt:
            let receipt = script.receipt(of: [purchase], at: now)
            let text = try script.receiptAuthority.receiptText(receipt)
            return script.publish(Body.receipt(text), as: .receipt)
        case .forged:
            let jws = try script.authority.forge(payload, .flippedPayload)
            return script.publish(Body.transaction(jws), as: .forgedPayload)
        default:
            let jws = try script.authority.sign(payload)
            script.publish(Body.transaction(jws), as: .purchase)
        }
        switch kind {
        case .renewal:
            purchase.renew(id: script.nextTransactionID(), until: end + month)
            try script.notify("DID_RENEW", of: purchase, as: .renewal)
        case .refund:
            purchase.transaction.revocationDate = now - DemoScript.day
            purchase.transaction.revocationReason = 1
            purchase.transaction.revocationType = "REFUND_FULL"
            purchase.sign(at: now - DemoScript.day + 1_000)
            try script.notify("REFUND", of: purchase, as: .refund)
        case .grace:
            purchase.renewal.isInBillingRetryPeriod = true
            purchase.renewal.expirationIntent = 2
            purchase.renewal.gracePeriodExpiresDate = end + 16 * DemoScript.day
            purchase.sign(at: end + 1_000)
            try script.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: purchase, as: .billingRetry, status: 4)
        case .upgrade:
            let date = now - 5 * DemoScript.day
            purchase.name(productID + Self.premium)
            purchase.renew(id: script.nextTransactionID(), from: date, until: date + month)
            purchase.transaction.transactionReason = "PURCHASE"
            try script.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", of: purchase, as: .upgrade)
        case .refundRequest:
            purchase.sign(at: now)
            let asked = try script.notification("CONSUMPTION_REQUEST", of: purchase) { data in
                data.consumptionRequestReason = "UNINTENDED_PURCHASE"
            }
            script.publish(asked, as: .refund)
        default: break
        }
    }
}
