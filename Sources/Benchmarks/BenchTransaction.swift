import Simulation

/// The record that all measurements are made on: about what Apple signs for a renewal.
enum BenchTransaction {
    static let bundleID = "com.example.pro"
    static let productID = "com.example.pro.monthly"
    static let appAppleID: Int64 = 1_234_567_890
    /// Renewals of one subscription.
    static let perPurchase = 4

    private static let firstID = 2_000_000_000_000_000
    private static let month: Int64 = 30 * 86_400_000

    static func id(_ index: Int) -> String {
        String(firstID + index)
    }

    /// The position that `id(_:)` was made of.
    static func index(ofID id: String) -> Int? {
        Int(id).map { $0 - firstID }
    }

    /// - Parameter times: how many times as large as Apple's it is. What is added is a field that
    ///   nobody knows, of one letter: it compresses to nothing, so that it shows what reading the
    ///   payload costs, not what the network does.
    static func payload(_ index: Int, times: Int) -> [UInt8] {
        let payload = payload(index)
        guard times > 1 else { return payload }
        let filler = String(repeating: "x", count: payload.count * (times - 1))
        return payload.dropLast() + Array(",\"filler\":\"\(filler)\"}".utf8)
    }

    static func payload(_ index: Int) -> [UInt8] {
        let purchase = index / perPurchase
        let period = Int64(index % perPurchase)
        var fields = TransactionFields()
        fields.transactionID = id(index)
        fields.originalTransactionID = id(purchase * perPurchase)
        fields.webOrderLineItemID = id(index)
        fields.subscriptionGroupIdentifier = "21000001"
        fields.purchaseDate = 1_767_225_600_000 + period * month
        fields.expiresDate = 1_767_225_600_000 + (period + 1) * month
        fields.appAccountToken = token(purchase)
        fields.appTransactionID = String(704_000_000_000_000_000 + purchase)
        fields.offerDiscountType = "PAY_AS_YOU_GO"
        fields.offerPeriod = "P1M"
        return fields.json
    }

    /// A UUID that no two purchases share.
    private static func token(_ purchase: Int) -> String {
        let digits = String(purchase, radix: 16)
        let padding = String(repeating: "0", count: 12 - digits.count)
        return "7e3fb20b-4cdb-47cc-936d-\(padding)\(digits)"
    }

    static let catalog = """
        {"products": {"\(productID)": {"type": "auto-renewable", "entitlements": ["pro"]}}}
        """
}
