import AppStore
import Entitlements
import Testing
import Simulation

/// Closing periods is a short cut: it must never change a row.
struct ClosedPeriodsTests {
    private static let key = PurchaseKey(
        environment: .production, bundleID: Sample.bundleID, originalTransactionID: "1")
    private static let ownerships = [
        Ownership(userID: "anna", rule: .accountToken),
        Ownership(
            spans: [
                OwnershipSpan(userID: "anna"), OwnershipSpan(userID: "ben", from: day(30)),
                OwnershipSpan(userID: "anna", from: day(45)),
            ], rule: .accountToken),
    ]

    @Test func `closed periods and later purchases give the rows of all facts`() {
        var random = SeededGenerator(seed: 5)
        var closedCount = 0
        for _ in 0..<3000 {
            let transactions = Self.transactions(using: &random)
            let graces = Self.graces(using: &random)
            let all = PurchaseFacts(transactions: transactions, spans: graces)
            var short = PurchaseFacts(transactions: Array(transactions.prefix(6)), spans: graces)
            for _ in 0..<3 {
                let keeping = Int.random(in: 1...4, using: &random)
                guard let closed = short.closed(keeping: keeping) else { continue }
                closedCount += 1
                short = PurchaseFacts(
                    transactions: transactions.filter { $0.purchaseDate >= closed.before }, spans: graces,
                    closed: closed)
            }
            guard short.closed != nil else { continue }
            for ownership in Self.ownerships { #expect(Self.rows(short, ownership) == Self.rows(all, ownership)) }
        }
        #expect(closedCount > 3000)
    }

    @Test func `a grace that comes later and follows an open period counts`() {
        let transactions = (0..<6).map { Self.transaction($0, day: $0 * 5, days: 5) }
        let closed = PurchaseFacts(transactions: transactions).closed(keeping: 2)
        let grace = RenewalSpan(.grace, from: Self.day(30), until: Self.day(33))
        let open = transactions.filter { $0.purchaseDate >= closed?.before ?? .earliest }
        #expect(open.count == 2)
        let short = PurchaseFacts(transactions: open, spans: [grace], closed: closed)
        let rows = Self.rows(short, Self.ownerships[0])
        #expect(rows.first?.periods.periods.first?.start == Self.day(0))
        #expect(rows.first?.periods.periods.last?.end == Self.day(33))
    }

    @Test func `a purchase that needs all facts is not closed`() {
        let transactions = (0..<6).map { Self.transaction($0, day: $0 * 5, days: 5) }
        let vague = RenewalSpan(.grace, until: Self.day(33))
        #expect(PurchaseFacts(transactions: transactions, spans: [vague]).closed(keeping: 2) == nil)
        var untyped = transactions
        untyped[0].type = nil
        #expect(PurchaseFacts(transactions: untyped).closed(keeping: 2) == nil)
        var withItem = transactions
        withItem[0].items = [CommerceItem(sku: "a")]
        #expect(PurchaseFacts(transactions: withItem).closed(keeping: 2) == nil)
        let atOnce = (0..<6).map { Self.transaction($0, day: 1, days: 5) }
        #expect(PurchaseFacts(transactions: atOnce).closed(keeping: 2) == nil)
        var running = transactions
        running[0].expiresDate = Self.day(40)
        #expect(PurchaseFacts(transactions: running).closed(keeping: 2) == nil)
        #expect(PurchaseFacts(transactions: transactions).closed(keeping: 6) == nil)
        #expect(PurchaseFacts(transactions: []).closed(keeping: 0) == nil)
    }

    private static func rows(_ facts: PurchaseFacts, _ ownership: Ownership) -> [EntitlementRow] {
        Projection(catalog: Catalog()).project(facts, of: key, ownership: ownership).rows
    }

    private static func day(_ number: Int) -> Timestamp {
        Timestamp(milliseconds: 1_767_225_600_000 + Int64(number) * 86_400_000)
    }

    private static func transaction(_ number: Int, day start: Int, days: Int, product: Identifier = "pro")
        -> MergedTransaction
    {
        MergedTransaction(
            transactionID: "\(number)", productID: product, type: .autoRenewable, purchaseDate: day(start),
            expiresDate: day(start + days))
    }

    /// Random transactions by purchase date: those after the sixth arrive when others are closed.
    ///
    /// Some are copies of earlier ones, or add seats to them.
    private static func transactions(using random: inout SeededGenerator) -> [MergedTransaction] {
        var start = 0
        var transactions: [MergedTransaction] = []
        for number in 0..<12 {
            start += Int.random(in: 0...6, using: &random)
            var transaction = transaction(
                number, day: start, days: Int.random(in: -1...8, using: &random),
                product: ["basic", "pro"].randomElement(using: &random) ?? "pro")
            if Bool.random(using: &random) {
                transaction.webOrderLineItemID = ["71", "72"].randomElement(using: &random)
            }
            if let known = transactions.last, Int.random(in: 0..<3, using: &random) == 0 {
                again(known, in: &transaction, using: &random)
            }
            transaction.quantity = Int32.random(in: 1...3, using: &random)
            transaction.revokedSeatQuantity = Bool.random(using: &random) ? 1 : nil
            transaction.ownershipType = Bool.random(using: &random) ? .assigned : nil
            transaction.isUpgraded = Int.random(in: 0..<4, using: &random) == 0
            if Int.random(in: 0..<4, using: &random) == 0 { transaction.startIfFirst = day(start - 1) }
            if Int.random(in: 0..<4, using: &random) == 0 {
                transaction.revocation = Revocation(date: day(start + Int.random(in: -2...10, using: &random)))
            }
            transactions.append(transaction)
        }
        return transactions.sorted { $0.precedes($1) }
    }

    /// Makes a transaction a copy of another, or of seats that were added to it.
    private static func again(
        _ known: MergedTransaction, in transaction: inout MergedTransaction, using random: inout SeededGenerator
    ) {
        transaction.productID = known.productID
        transaction.expiresDate = known.expiresDate
        transaction.webOrderLineItemID = known.webOrderLineItemID
        switch Int.random(in: 0..<4, using: &random) {
        case 0: break
        case 1:
            let milliseconds = known.purchaseDate.milliseconds + 250
            transaction.purchaseDate = Timestamp(milliseconds: milliseconds)
        case 2: transaction.additionalTransactionReason = "SEAT_ADDITION"
        default: transaction.purchaseDate = known.purchaseDate
        }
    }

    private static func graces(using random: inout SeededGenerator) -> [RenewalSpan] {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let ended = Int.random(in: 0...60, using: &random)
            return RenewalSpan(.grace, from: day(ended), until: day(ended + Int.random(in: 1...6, using: &random)))
        }
    }
}
