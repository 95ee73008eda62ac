import JSON
import Testing

@testable import AppStore

struct PayloadTests {
    @Test func `every field of a transaction is read by its name`() throws {
        let transaction = TransactionPayload(
            try Self.json(
                """
                {"transactionId":"23456","originalTransactionId":"12345","bundleId":"com.example",
                "webOrderLineItemId":"34343","productId":"com.example.product",
                "subscriptionGroupIdentifier":"55555","purchaseDate":1698148900000,
                "originalPurchaseDate":1698148800000,"expiresDate":1698149000000,"quantity":2,
                "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED",
                "appAccountToken":"7E3FB20B-4cdb-47cc-936d-99d65f608138","signedDate":1698148900001,
                "revocationReason":1,"revocationDate":1698148950000,"isUpgraded":true,
                "offerType":1,"offerIdentifier":"abc.123","environment":"LocalTesting",
                "storefront":"USA","storefrontId":"143441","transactionReason":"PURCHASE",
                "currency":"USD","price":10990,"offerDiscountType":"PAY_AS_YOU_GO",
                "appTransactionId":"71134","offerPeriod":"P1Y","revocationType":"REFUND_PRORATED",
                "revocationPercentage":50000,"advancedCommerceInfo":{},"billingPlanType":"MONTHLY",
                "commitmentInfo":{},"previousOriginalTransactionId":"11111",
                "additionalTransactionReason":"seatAddition","revokedSeatQuantity":2,
                "multiSeatInfo":{},"addedLater":[1]}
                """))
        #expect(transaction.malformedFields == 0)
        #expect(transaction.transactionID?.string == "23456")
        #expect(transaction.originalTransactionID?.string == "12345")
        #expect(transaction.bundleID?.string == "com.example")
        #expect(transaction.webOrderLineItemID?.string == "34343")
        #expect(transaction.productID?.string == "com.example.product")
        #expect(transaction.subscriptionGroupID?.string == "55555")
        #expect(transaction.purchaseDate == Timestamp(milliseconds: 1_698_148_900_000))
        #expect(transaction.expiresDate == Timestamp(milliseconds: 1_698_149_000_000))
        #expect(transaction.quantity == 2)
        #expect(transaction.type == .autoRenewable)
        #expect(transaction.ownershipType == .purchased)
        #expect(transaction.appAccountToken?.canonical == "7e3fb20b-4cdb-47cc-936d-99d65f608138")
        #expect(transaction.signedDate == Timestamp(milliseconds: 1_698_148_900_001))
        #expect(transaction.revocationReason == 1)
        #expect(transaction.revocationDate == Timestamp(milliseconds: 1_698_148_950_000))
        #expect(transaction.isUpgraded == true)
        #expect(transaction.environment?.string == "LocalTesting")
        #expect(transaction.reason?.string == "PURCHASE")
        #expect(transaction.appTransactionID?.string == "71134")
        #expect(transaction.revocationType?.string == "REFUND_PRORATED")
        #expect(transaction.revocationPercentage == 50000)
        #expect(transaction.advancedCommerce?.kind == .object)
        #expect(transaction.additionalReason?.string == "seatAddition")
        #expect(transaction.revokedSeatQuantity == 2)
        #expect(transaction.multiSeat?.kind == .object)
    }

    @Test(arguments: [
        #""transactionId":"""#, #""transactionId":7"#, #""purchaseDate":"1698148900000""#, #""purchaseDate":1e300"#,
        #""purchaseDate":253402300800000"#, #""purchaseDate":-62135596800001"#, #""quantity":2147483648"#,
        #""quantity":1.5"#, #""isUpgraded":1"#, #""appAccountToken":"user-7""#,
        #""appAccountToken":"7e3fb20b-4cdb-47cc-936d_99d65f608138""#, #""advancedCommerceInfo":"none""#,
        #""price":99999999999999999999"#,
    ]) func `a field of a wrong type or value is absent and counted`(member: String) throws {
        let transaction = TransactionPayload(try Self.json("{\(member)}"))
        #expect(transaction.malformedFields == 1)
        #expect(transaction.transactionID == nil)
        #expect(transaction.purchaseDate == nil)
        #expect(transaction.quantity == nil)
        #expect(transaction.isUpgraded == nil)
        #expect(transaction.appAccountToken == nil)
        #expect(transaction.advancedCommerce == nil)
    }

    @Test func `an explicit null is absent and not a fault`() throws {
        let transaction = TransactionPayload(try Self.json(#"{"appAccountToken":null,"expiresDate":null}"#))
        #expect(transaction.malformedFields == 0)
        #expect(transaction.appAccountToken == nil)
        #expect(transaction.expiresDate == nil)
    }

    @Test(arguments: [1, 255]) func `an identifier may have this many bytes`(count: Int) throws {
        let id = String(repeating: "7", count: count)
        let transaction = TransactionPayload(try Self.json(#"{"transactionId":"\#(id)"}"#))
        #expect(transaction.transactionID?.string == id)
    }

    @Test(arguments: ["00000000-0000-0000-0000-000000000000", #"\u00300000000-0000-0000-0000-00000000000\u0030"#])
    func `the nil UUID is neither an account token nor a fault`(text: String) throws {
        let json = try Self.json(#"{"appAccountToken":"\#(text)"}"#)
        let transaction = TransactionPayload(json)
        #expect(transaction.appAccountToken == nil && transaction.malformedFields == 0)
        let renewal = RenewalPayload(json)
        #expect(renewal.appAccountToken == nil && renewal.malformedFields == 0)
        #expect(AccountToken("00000000-0000-0000-0000-000000000000") == nil)
    }

    @Test func `an identifier of 256 bytes is absent`() throws {
        let id = String(repeating: "7", count: 256)
        let transaction = TransactionPayload(try Self.json(#"{"transactionId":"\#(id)"}"#))
        #expect(transaction.transactionID == nil)
        #expect(transaction.malformedFields == 1)
    }

    @Test func `a key and a value written with escapes read as any other`() throws {
        let transaction = TransactionPayload(try Self.json(#"{"transaction\u0049d":"\u0037\u0038"}"#))
        #expect(transaction.transactionID?.string == "78")
        #expect(transaction.transactionID?.equals("78") == true)
    }

    @Test func `an unknown product type keeps its name`() throws {
        let transaction = TransactionPayload(try Self.json(#"{"type":"Bundle"}"#))
        #expect(transaction.type == .other("Bundle"))
        #expect(transaction.type?.rawValue == "Bundle")
        #expect(transaction.malformedFields == 0)
    }

    @Test func `fractional dates round down`() throws {
        let transaction = TransactionPayload(try Self.json(#"{"purchaseDate":1697679936049.937,"expiresDate":-0.5}"#))
        #expect(transaction.purchaseDate == Timestamp(milliseconds: 1_697_679_936_049))
        #expect(transaction.expiresDate == Timestamp(milliseconds: -1))
    }

    @Test func `a renewal info is read by its names`() throws {
        let renewal = RenewalPayload(
            try Self.json(
                """
                {"expirationIntent":1,"originalTransactionId":"12345","productId":"a",
                "autoRenewProductId":"b","autoRenewStatus":1,"isInBillingRetryPeriod":true,
                "priceIncreaseStatus":0,"gracePeriodExpiresDate":5,"signedDate":6,
                "environment":"Sandbox","renewalDate":7,"appTransactionId":"71134",
                "eligibleWinBackOfferIds":["x"],"recentSubscriptionStartDate":8}
                """))
        #expect(renewal.malformedFields == 0)
        #expect(renewal.expirationIntent == 1)
        #expect(renewal.originalTransactionID?.string == "12345")
        #expect(renewal.productID?.string == "a")
        #expect(renewal.autoRenewProductID?.string == "b")
        #expect(renewal.autoRenewStatus == 1)
        #expect(renewal.isInBillingRetryPeriod == true)
        #expect(renewal.priceIncreaseStatus == 0)
        #expect(renewal.gracePeriodExpiresDate == Timestamp(milliseconds: 5))
        #expect(renewal.signedDate == Timestamp(milliseconds: 6))
        #expect(renewal.renewalDate == Timestamp(milliseconds: 7))
        #expect(renewal.environment?.string == "Sandbox")
        #expect(renewal.appTransactionID?.string == "71134")
    }

    @Test func `a notification counts the malformed fields of its data`() throws {
        let notification = NotificationPayload(
            try Self.json(
                """
                {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","signedDate":"soon",
                "notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb20","version":"2.0",
                "data":{"environment":"Sandbox","appAppleId":"41234","bundleId":"com.example",
                "signedTransactionInfo":"","signedRenewalInfo":null,"status":1}}
                """))
        #expect(notification.malformedFields == 2)
        #expect(notification.type?.string == "SUBSCRIBED")
        #expect(notification.subtype?.string == "INITIAL_BUY")
        #expect(notification.uuid?.string == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        #expect(notification.data?.bundleID?.string == "com.example")
        #expect(notification.data?.appAppleID == nil)
        #expect(notification.summary == nil)
    }

    @Test(arguments: [("SANDBOX_1", Environment.sandbox), ("b2-1", .production)])
    func `an external purchase token has its environment in its ID`(id: String, environment: Environment) throws {
        let notification = NotificationPayload(
            try Self.json(#"{"externalPurchaseToken":{"externalPurchaseId":"\#(id)"}}"#))
        #expect(notification.externalPurchaseToken?.externalPurchaseEnvironment == environment)
    }

    @Test func `an app transaction is read by its names`() throws {
        let transaction = AppTransactionPayload(
            try Self.json(
                """
                {"receiptType":"Xcode","bundleId":"com.example","appAppleId":531412,
                "receiptCreationDate":1697679936056.485,"originalPurchaseDate":-62135769600000,
                "appTransactionId":"71134","originalPlatform":"iOS"}
                """))
        #expect(transaction.environment?.string == "Xcode")
        #expect(transaction.bundleID?.string == "com.example")
        #expect(transaction.appAppleID == 531_412)
        #expect(transaction.signedDate == Timestamp(milliseconds: 1_697_679_936_056))
        #expect(transaction.appTransactionID?.string == "71134")
        #expect(transaction.originalPlatform?.string == "iOS")
        #expect(transaction.originalPurchaseDate == nil, "before year 1")
        #expect(transaction.malformedFields == 1)
    }

    @Test(arguments: [
        (FieldKind.text, #""USA""#, "7"), (.identifier, #""7""#, #""""#), (.date, "7.5", #""7""#),
        (.int32, "7", "2147483648"), (.int64, "2147483648", "1.5"), (.object, "{}", "[]"), (.array, "[]", "{}"),
    ]) func `a field that no code reads is checked by its kind`(kind: FieldKind, fitting: String, other: String) throws
    {
        let objects =
            [
                (TransactionField.checked, { TransactionPayload($0).malformedFields }),
                (RenewalField.checked, { RenewalPayload($0).malformedFields }),
                (NotificationSubject.Field.checked, { NotificationSubject($0).malformedFields }),
                (NotificationPayload.Field.checked, { NotificationPayload($0).malformedFields }),
                (AppTransactionPayload.Field.checked, { AppTransactionPayload($0).malformedFields }),
            ] as [([FieldKind: [String]], (JSONValue) -> Int)]
        for (fields, malformed) in objects {
            for name in fields[kind, default: []] {
                #expect(malformed(try Self.json(#"{"\#(name)":\#(fitting)}"#)) == 0, "\(name)")
                #expect(malformed(try Self.json(#"{"\#(name)":\#(other)}"#)) == 1, "\(name)")
                #expect(malformed(try Self.json(#"{"\#(name)":null}"#)) == 0, "\(name)")
            }
        }
        #expect(objects.contains { $0.0[kind] != nil })
    }

    private static func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }
}
