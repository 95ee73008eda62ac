import AppStore
import Entitlements
import Testing

/// The transactions that were bought as one, and their explanation in `explain`.
struct CopiesTests {
    private static let key = PurchaseKey(
        environment: .production, bundleID: Sample.bundleID, originalTransactionID: "1")
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    struct Pair: Sendable {
        let name: String
        let areCopies: Bool
        var type = ProductType.autoRenewable
        var change: @Sendable (inout MergedTransaction) -> Void = { _ in }
    }

    private static let pairs = [
        Pair(name: "equal dates", areCopies: true),
        Pair(name: "one line item and other dates", areCopies: true) { $0.purchaseDate = Sample.date("2026-01-02") },
        Pair(name: "neither line item nor dates", areCopies: false) {
            $0.purchaseDate = Sample.date("2026-01-02")
            $0.webOrderLineItemID = nil
        },
        Pair(name: "one line item in another period", areCopies: false) {
            $0.purchaseDate = Sample.date("2026-02-01")
            $0.expiresDate = Sample.date("2026-03-01")
        }, Pair(name: "added seats", areCopies: false) { $0.additionalTransactionReason = "SEATS" },
        Pair(name: "added seats that were bought before", areCopies: false) {
            $0.purchaseDate = Sample.date("2025-12-31")
            $0.additionalTransactionReason = "SEATS"
        }, Pair(name: "a seat that was assigned", areCopies: false) { $0.ownershipType = .assigned },
        Pair(name: "a receipt, which names no ownership", areCopies: true) { $0.ownershipType = nil },
        Pair(name: "another product", areCopies: false) { $0.productID = "basic" },
        Pair(name: "a restored non-consumable", areCopies: true, type: .nonConsumable) {
            $0.purchaseDate = Sample.date("2027-01-02")
        },
        Pair(name: "a consumable bought in the same second", areCopies: true, type: .consumable) {
            $0.purchaseDate = Timestamp(milliseconds: $0.purchaseDate.milliseconds + 999)
        },
        Pair(name: "a consumable bought a second later", areCopies: false, type: .consumable) {
            $0.purchaseDate = Timestamp(milliseconds: $0.purchaseDate.milliseconds + 1000)
        },
        Pair(name: "a non-renewing one bought later", areCopies: false, type: .nonRenewing) {
            $0.purchaseDate = Sample.date("2026-01-02")
        },
    ]

    @Test(arguments: pairs) func `a copy counts as the transaction that was bought first`(pair: Pair) {
        var other = Self.transaction("2", type: pair.type)
        pair.change(&other)
        let transactions = [Self.transaction("1", type: pair.type), other]
        let rules = Self.contributions(transactions).filter { $0.rule == .copy }
        #expect(rules.map(\.transactionID) == (pair.areCopies ? ["2"] : []), "\(pair.name)")
    }

    @Test func `a refunded transaction is explained by the one that holds its period`() {
        var first = Self.transaction("1")
        var seats = Self.transaction("2")
        (first.additionalTransactionReason, seats.additionalTransactionReason) = ("A", "A")
        seats.purchaseDate = Sample.date("2026-01-20")
        seats.revocation = Revocation(date: Sample.date("2026-01-25"))
        #expect(Self.contributions([first, seats]).map(\.rule) == [.billedPeriod, .sharedPeriod])
        first.revocation = Revocation(date: Sample.date("2026-01-22"))
        let ended = Self.contributions([first, seats])
        #expect(ended.map(\.rule) == [.revoked, .revoked])
        #expect(ended.allSatisfy { $0.period?.end == Sample.date("2026-01-25") })
    }

    private static func contributions(_ transactions: [MergedTransaction]) -> [Contribution] {
        Projection(catalog: Catalog()).contributions(
            of: PurchaseFacts(transactions: transactions), key, ownership: anna, stacks: NonRenewingStacks())
    }

    private static func transaction(_ id: Identifier, type: ProductType = .autoRenewable) -> MergedTransaction {
        MergedTransaction(
            transactionID: id, productID: "pro", type: type, purchaseDate: Sample.date("2026-01-01"),
            expiresDate: type == .autoRenewable ? Sample.date("2026-02-01") : nil, ownershipType: .purchased,
            webOrderLineItemID: "77")
    }
}
