package import Simulation

/// A body as Apple may sign it next year, and the purchases in it.
package struct NextYearBody: Sendable {
    package let value: [UInt8]
    package let kind: NextYearBody.Kind
    /// Number of transactions in the body, each of which the verifier has to return.
    package let transactionsCount: Int

    package enum Kind: CaseIterable, Sendable {
        case transaction, renewalInfo, appTransaction, posted, pair, appTransactionInfo
        case history, statuses, notification, notificationPage, receipt
    }
}

extension NextYear {
    /// A body of one of the kinds in which signed data comes, genuinely signed.
    ///
    /// - Parameters:
    ///   - authority: signs JWS; trusted for `com.example.pro` in Production.
    ///   - receipts: signs receipts, trusted likewise.
    package mutating func body(signedBy authority: CertificateAuthority, _ receipts: CertificateAuthority) throws
        -> NextYearBody
    {
        let kinds = NextYearBody.Kind.allCases
        var kind = kinds[Int.random(in: kinds.indices, using: &random)]
        // An RSA signature costs as much as fifty others.
        if kind == .receipt, !chance(2) { kind = .notification }
        let (value, count) = try body(kind, signedBy: authority, receipts)
        return NextYearBody(value: value, kind: kind, transactionsCount: count)
    }

    private mutating func body(
        _ kind: NextYearBody.Kind, signedBy authority: CertificateAuthority, _ receipts: CertificateAuthority
    ) throws -> (value: [UInt8], transactionsCount: Int) {
        let id = newID()
        func transaction(_ id: String) throws -> [UInt8] { try authority.sign(payload(Self.transaction(id).json)) }
        func renewal() throws -> [UInt8] { try authority.sign(payload(Self.renewal(id).json)) }
        func appTransaction() throws -> [UInt8] { try authority.sign(payload(AppTransactionFields().json)) }
        func unknown() throws -> [UInt8] {
            try authority.sign(payload(Array(#"{"giftId":"7","signedDate":1767225601000}"#.utf8)))
        }
        switch kind {
        case .transaction: return (try transaction(id), 1)
        case .renewalInfo: return (try envelope(Body.renewalInfo(renewal())), 0)
        case .appTransaction: return (try appTransaction(), 0)
        case .posted:
            let claims: KeyValuePairs = ["transactionID": "\"\(id)\""]
            let body = Body.transaction(try transaction(id), claims: claims)
            return (try envelope(body), 1)
        case .pair: return (try envelope(Body.transactionInfo(transaction(id))), 1)
        case .appTransactionInfo: return (try envelope(Body.appTransactionInfo(appTransaction())), 0)
        case .history:
            let items = [try transaction(id), try unknown(), try transaction(newID())]
            return (try envelope(Body.history(items)), 2)
        case .statuses:
            let body = Body.subscriptionStatuses(
                environment: "Production", bundleID: "com.example.pro", originalTransactionID: id,
                transaction: try transaction(id), renewal: chance(20) ? try unknown() : try renewal())
            return (try envelope(body), 1)
        case .notification:
            let (jws, count) = try notification(signedBy: authority)
            return (try envelope(Body.notification(jws)), count)
        case .notificationPage:
            let parts = try (0..<3).map { _ in try notification(signedBy: authority) }
            let page = Body.notificationHistory(try parts.map(\.jws) + [unknown()])
            return (try envelope(page), parts.reduce(0) { $0 + $1.transactionsCount })
        case .receipt: return (try receipts.receiptText(receipt()), 1)
        }
    }

    /// A random ID, from so many that no two transactions share one.
    private mutating func newID() -> String { String(UInt64.random(in: 1...UInt64.max, using: &random)) }

    /// A notification with a body of one of the kinds, two of which no version knows.
    private mutating func notification(signedBy authority: CertificateAuthority) throws -> (
        jws: [UInt8], transactionsCount: Int
    ) {
        func text(_ jws: [UInt8]) -> String { String(decoding: jws, as: UTF8.self) }
        var fields = NotificationFields()
        var data = NotificationDataFields()
        fields.notificationType = "DID_RENEW"
        fields.notificationUUID = random.uuid()
        fields.subtype = chance(50) ? "BILLING_RECOVERY" : nil
        var count = 0
        let app = #""appAppleId":1234567890,"bundleId":"com.example.pro","# + #""environment":"Production","#
        switch Int.random(in: 0..<8, using: &random) {
        case 0: fields.overrides["summary"] = "{\(app)\"requestIdentifier\":\"r\",\"failedCount\":1}"
        case 1:
            let token = #""externalPurchaseId":"7","tokenCreationDate":1767225600000"#
            fields.overrides["externalPurchaseToken"] = "{\(app)\(token)}"
        case 2:
            let inner = text(try authority.sign(payload(AppTransactionFields().json)))
            fields.overrides["appData"] = "{\(app)\"signedAppTransactionInfo\":\"\(inner)\"}"
        case 3: fields.overrides["unclaimInfo"] = "{\(app)\"unclaimSeatIds\":[\"7\"]}"
        case 4: fields.overrides["pledgeInfo"] = "{\(app)\"pledge\":{\"by\":\"x\"}}"
        case 5: fields.overrides["pledgeInfo"] = #"{"pledge":{"by":"x"}}"#
        case 6:
            data.status = 1
            fields.data = data.json
        default:
            let id = newID()
            data.signedTransactionInfo = text(try authority.sign(payload(Self.transaction(id).json)))
            data.signedRenewalInfo = text(try authority.sign(payload(Self.renewal(id).json)))
            fields.data = data.json
            count = 1
        }
        return (try authority.sign(payload(fields.json)), count)
    }

    /// A transaction with every optional member that Apple documents.
    private static func transaction(_ id: String) -> TransactionFields {
        var fields = TransactionFields()
        fields.transactionID = id
        fields.originalTransactionID = id
        fields.webOrderLineItemID = "2000000000000077"
        fields.subscriptionGroupIdentifier = "21000001"
        fields.expiresDate = 1_769_904_000_000
        fields.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        fields.revocationReason = 1
        fields.revocationDate = 1_768_000_000_000
        fields.revocationType = "REFUND_PRORATED"
        fields.revocationPercentage = 50_000
        fields.isUpgraded = false
        fields.offerType = 1
        fields.offerIdentifier = "winter"
        fields.offerDiscountType = "PAY_AS_YOU_GO"
        fields.offerPeriod = "P1M"
        fields.appTransactionID = "704000000000000001"
        fields.previousOriginalTransactionID = "1999999999999999"
        fields.billingPlanType = "MONTHLY"
        fields.commitmentInfo = Array(#"{"commitmentPrice":7,"totalBillingPeriods":12}"#.utf8)
        fields.advancedCommerceInfo = Array(
            """
            {"requestReferenceId":"r","taxCode":"C003","items":[{"SKU":"a","price":999,\
            "revocationDate":1768000000000,"refunds":[{"refundType":"FULL","refundAmount":999,\
            "refundDate":1768000000000,"refundReason":"LEGAL"}]}]}
            """.utf8)
        fields.overrides["additionalTransactionReason"] = #""seatAddition""#
        fields.overrides["revokedSeatQuantity"] = "1"
        fields.overrides["multiSeatInfo"] = #"{"invitationManagement":"APPLE","priceTiers":[{"price":7,"quantity":2}]}"#
        return fields
    }

    private static func renewal(_ id: String) -> RenewalFields {
        var fields = RenewalFields()
        fields.originalTransactionID = id
        fields.expirationIntent = 1
        fields.isInBillingRetryPeriod = true
        fields.priceIncreaseStatus = 0
        fields.gracePeriodExpiresDate = 1_770_000_000_000
        fields.offerType = 4
        fields.offerIdentifier = "back"
        fields.renewalDate = 1_769_904_000_000
        fields.eligibleWinBackOfferIDs = ["a", "b"]
        fields.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        fields.appTransactionID = "704000000000000001"
        fields.commitmentInfo = Array(#"{"commitmentRenewalPrice":7}"#.utf8)
        fields.renewalBillingPlanType = "MONTHLY"
        fields.overrides["renewalQuantity"] = "3"
        fields.overrides["multiSeatInfo"] = #"{"renewalPriceTiers":[{"price":7,"quantity":3}]}"#
        return fields
    }

    /// Attributes that nobody knows, and a known optional one of another form.
    private mutating func receipt() -> ReceiptFields {
        var record = ReceiptRecordFields()
        record.transactionID = newID()
        record.originalTransactionID = record.transactionID
        record.further = [
            ReceiptFields.attribute(Int.random(in: 3_000...9_999, using: &random), text: newName()),
            ReceiptFields.attribute(1713, text: newName()),
        ]
        record.productType = Int.random(in: 3...99, using: &random)
        var fields = ReceiptFields()
        fields.records = [record]
        fields.further = [
            ReceiptFields.attribute(Int.random(in: 3_000...4_999, using: &random), integer: 7),
            ReceiptFields.attribute(5_000, version: 9, [0xFF, 0x00]),
        ]
        return fields
    }
}
