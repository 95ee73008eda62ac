import AppStore
import Testing

@testable import Entitlements

struct ProjectionTests {
    private static let key = PurchaseKey(
        environment: .production, bundleID: Sample.bundleID, originalTransactionID: "1")
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    @Test func `a grace without a renewal date extends the last period that ended before it does`() {
        let rows = Self.rows(
            [Self.month("1", 1), Self.month("2", 2)], spans: [RenewalSpan(.grace, until: Sample.date("2026-03-17"))])
        #expect(rows.first?.periods.periods.last?.end == Sample.date("2026-03-17"))
        #expect(rows.first?.periods.periods.count == 1)
    }

    @Test func `a grace's missing renewal date is found after the recovery too`() {
        let rows = Self.rows(
            [Self.month("1", 1), Self.transaction("2", "2026-02-05", "2026-03-05")],
            spans: [RenewalSpan(.grace, until: Sample.date("2026-02-17"))])
        #expect(rows.first?.periods.periods.count == 1)
        #expect(rows.first?.periods.periods.last?.end == Sample.date("2026-03-05"))
    }

    @Test func `a grace ends when another product recovers`() {
        let rows = Self.rows(
            [Self.month("1", 1), Self.transaction("2", "2026-02-05", "2026-02-08", "weekly")],
            spans: [RenewalSpan(.grace, from: Sample.date("2026-02-01"), until: Sample.date("2026-02-17"))])
        #expect(rows.map(\.key) == ["monthly", "weekly"])
        #expect(rows.first?.periods.periods.last?.end == Sample.date("2026-02-05"))
        #expect(rows.last?.periods.periods.last?.end == Sample.date("2026-02-08"))
    }

    @Test func `a refund within the grace ends it at the refund`() {
        var refunded = Self.month("1", 1)
        refunded.revocation = Revocation(date: Sample.date("2026-02-03"))
        let rows = Self.rows(
            [refunded], spans: [RenewalSpan(.grace, from: Sample.date("2026-02-01"), until: Sample.date("2026-02-17"))])
        #expect(rows.first?.periods.periods.last?.end == Sample.date("2026-02-03"))
    }

    @Test func `a grace alone makes no purchase`() {
        let rows = Self.rows([], spans: [RenewalSpan(.grace, until: Sample.date("2026-02-17"))])
        #expect(rows.isEmpty)
    }

    @Test func `a subscription's transaction without an end grants nothing`() {
        var endless = Self.month("1", 1)
        endless.expiresDate = nil
        #expect(Self.rows([endless]).isEmpty)
    }

    @Test func `a purchase without an owner grants nothing yet`() {
        let facts = PurchaseFacts(transactions: [Self.month("1", 1)])
        let projected = Projection(catalog: Catalog()).project(
            facts, of: Self.key, ownership: Ownership(spans: [], rule: .unlinked))
        #expect(projected == ProjectedPurchase())
    }

    @Test func `a user who owned it twice holds both spans`() {
        let spans = [
            OwnershipSpan(userID: "anna"), OwnershipSpan(userID: "ben", from: Sample.date("2026-02-01")),
            OwnershipSpan(userID: "anna", from: Sample.date("2026-03-01")),
        ]
        let rows = Projection(catalog: Catalog()).project(
            PurchaseFacts(transactions: (1...3).map { Self.month("\($0)", $0) }), of: Self.key,
            ownership: Ownership(spans: spans, rule: .accountToken)
        ).rows
        #expect(rows.map(\.userID) == ["anna", "ben"])
        #expect(rows.first?.periods.periods.count == 2)
        #expect(rows.last?.periods.periods.count == 1)
    }

    @Test(arguments: [
        (Int64(1), Int32(50_000), Int64(1)), (3, 50_000, 2), (1, 49_999, 0), (10, 0, 0), (10, 100_000, 10),
        (1_000_000_000, 33_333, 333_330_000),
    ]) func `a refund takes back its share, half up`(amount: Int64, percentage: Int32, back: Int64) {
        let product = Product(id: "coins", type: .consumable, credits: ["coins": [EffectiveDated(amount)]])
        let transaction = MergedTransaction(
            transactionID: "1", productID: "coins", type: .consumable, purchaseDate: Sample.date("2026-01-01"),
            revocation: Revocation(date: Sample.date("2026-01-02"), percentage: percentage))
        let credits = Projection(catalog: Catalog([product])).project(
            PurchaseFacts(transactions: [transaction]), of: Self.key, ownership: Self.anna
        ).credits
        #expect(credits.map(\.takenBack) == [back])
        #expect(credits.map(\.balance) == [amount - back])
    }

    @Test func `the greatest amount and quantity do not overflow`() {
        let product = Product(id: "coins", type: .consumable, credits: ["coins": [EffectiveDated(1_000_000_000)]])
        let transaction = MergedTransaction(
            transactionID: "1", productID: "coins", type: .consumable, purchaseDate: Sample.date("2026-01-01"),
            revocation: Revocation(date: Sample.date("2026-01-02"), percentage: 99_999), quantity: .max)
        let credits = Projection(catalog: Catalog([product])).project(
            PurchaseFacts(transactions: [transaction]), of: Self.key, ownership: Self.anna
        ).credits
        #expect(credits.map(\.amount) == [2_147_483_647_000_000_000])
    }

    @Test func `an unknown consumable credits nothing, an unknown non-renewing has no end`() {
        var coins = Self.transaction("1", "2026-01-01", nil, "coins")
        coins.type = .consumable
        var pass = Self.transaction("2", "2026-01-01", nil, "pass")
        pass.type = .nonRenewing
        let facts = PurchaseFacts(transactions: [coins, pass])
        let projection = Projection(catalog: Catalog())
        let stacked = projection.stackedPurchases(of: facts, Self.key, spans: Self.anna.spans)
        let projected = projection.project(
            facts, of: Self.key, ownership: Self.anna, stacks: NonRenewingStacks(stacked, catalog: projection.catalog))
        #expect(projected.credits.isEmpty)
        #expect(projected.rows.map(\.key) == ["pass"])
        #expect(projected.rows.first?.periods.contains(.latest) == true)
    }

    @Test func `a refunded non-renewing purchase is explained as never bought`() {
        var pass = Self.transaction("1", "2026-01-01", nil, "pass")
        pass.type = .nonRenewing
        for (revocation, rule) in [
            (nil, ProjectionRule.stackedDuration), (Revocation(date: Sample.date("2026-01-02")), .neverBought),
        ] {
            pass.revocation = revocation
            let contributions = Projection(catalog: Catalog()).contributions(
                of: PurchaseFacts(transactions: [pass]), Self.key, ownership: Self.anna, stacks: NonRenewingStacks())
            #expect(contributions.map(\.rule) == [rule])
        }
    }

    @Test func `a record without type and end grants nothing until a catalog names its product`() {
        let bought = MergedTransaction(
            transactionID: "1", productID: "lifetime", type: nil, purchaseDate: Sample.date("2026-01-01"))
        #expect(Self.rows([bought]).isEmpty)
        let named = Projection(
            catalog: Catalog([Product(id: "lifetime", type: .nonConsumable, entitlementKeys: ["pro"])]))
        let rows = named.project(PurchaseFacts(transactions: [bought]), of: Self.key, ownership: Self.anna).rows
        #expect(rows.map(\.key) == ["pro"])
    }

    private static func rows(_ transactions: [MergedTransaction], spans: [RenewalSpan] = []) -> [EntitlementRow] {
        Projection(catalog: Catalog()).project(
            PurchaseFacts(transactions: transactions, spans: spans), of: key, ownership: anna
        ).rows
    }

    private static func month(_ id: Identifier, _ month: Int) -> MergedTransaction {
        transaction(id, "2026-0\(month)-01", "2026-0\(month + 1)-01")
    }

    private static func transaction(
        _ id: Identifier, _ purchased: String, _ expires: String?, _ product: Identifier = "monthly"
    ) -> MergedTransaction {
        MergedTransaction(
            transactionID: id, productID: product, type: .autoRenewable, purchaseDate: Sample.date(purchased),
            expiresDate: expires.map { Sample.date($0) })
    }
}
