import AppStore
import OpenSSL
import Simulation

/// The record of all measurements, of about the size that Apple signs.
enum BenchTransaction {
    static let bundleID = "com.example.pro"
    static let productID = "com.example.pro.monthly"
    static let coins = "com.example.coins"
    static let lifetime = "com.example.lifetime"
    static let appAppleID: Int64 = 1_234_567_890

    private static let firstID = 2_000_000_000_000_000
    private static let month: Int64 = 30 * 86_400_000

    static func id(_ index: Int) -> String { String(firstID + index) }

    static func payload(_ index: Int) -> [UInt8] { fields(index).json }

    /// The first period of a subscription.
    static func fields(_ index: Int) -> TransactionFields {
        var fields = TransactionFields()
        fields.transactionID = id(index)
        fields.originalTransactionID = id(index)
        fields.webOrderLineItemID = id(index)
        fields.subscriptionGroupIdentifier = "21000001"
        fields.purchaseDate = date(months: 0)
        fields.expiresDate = date(months: 1)
        let user = user(of: index)
        fields.appAccountToken = token(of: user)
        fields.appTransactionID = String(704_000_000_000_000_000 + user)
        fields.offerDiscountType = "PAY_AS_YOU_GO"
        fields.offerPeriod = "P1M"
        return fields
    }

    /// The date this many months after the first purchase.
    static func date(months: Int64) -> Int64 { 1_767_225_600_000 + months * month }

    private static let purchasesPerBlock = 25_200
    private static let usersPerBlock = 7_200

    /// The number of the user that has bought it.
    ///
    /// Users have 1 to 6 purchases, each number of purchases as often as any other, and the
    /// purchases of a user lie anywhere within 25,200.
    private static func user(of purchase: Int) -> Int {
        let (block, index) = purchase.quotientAndRemainder(dividingBy: purchasesPerBlock)
        // A prime, so that every place is taken once.
        let (group, place) = (index * 9_973 % purchasesPerBlock).quotientAndRemainder(dividingBy: 21)
        // The places 0, 1-2, 3-5, 6-9, 10-14 and 15-20 of a group are of a user each.
        let user = (0..<5).first { place < ($0 + 1) * ($0 + 2) / 2 } ?? 5
        return block * usersPerBlock + group * 6 + user
    }

    /// The users that may have bought these.
    static func users(of purchases: Range<Int>) -> Range<Int> {
        let blocks = purchases.lowerBound / purchasesPerBlock...(purchases.upperBound - 1) / purchasesPerBlock
        return blocks.lowerBound * usersPerBlock..<(blocks.upperBound + 1) * usersPerBlock
    }

    /// A UUID that no two users share; `BenchDatabase.link` makes the same.
    private static func token(of user: Int) -> String {
        let digits = String(user, radix: 16)
        let padding = String(repeating: "0", count: 12 - digits.count)
        return "7e3fb20b-4cdb-47cc-936d-\(padding)\(digits)"
    }

    static let catalog = """
        {"products": {
            "\(productID)": {"type": "auto-renewable", "entitlements": ["pro"]},
            "\(lifetime)": {"type": "non-consumable", "entitlements": ["lifetime"]},
            "\(coins)": {"type": "consumable", "credits": {"coins": 100}}
        }}
        """
}

extension ConfiguredApp {
    /// The app of all measurements, with throw-away roots for Production.
    init(trusting authorities: CertificateAuthority...) throws {
        self.init(
            bundleID: Identifier(BenchTransaction.bundleID), environment: .production,
            appAppleID: BenchTransaction.appAppleID, roots: try authorities.map { try Certificate(der: $0.root) },
            hasTestRootInProduction: true)
    }
}
