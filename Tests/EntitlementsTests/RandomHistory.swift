import AppStore
import Entitlements
import Simulation

/// Facts that Apple might sign about a few purchases, with copies and added seats, and some links;
/// small numbers, so that dates, tokens and revisions meet often.
struct RandomHistory {
    enum Fact {
        case transaction(TransactionFact)
        case renewal(RenewalFact)
    }

    let facts: [Fact]
    let links: AccountLinks

    private static let tokens = (1...3).compactMap { number in
        AccountToken("00000000-0000-4000-8000-00000000000\(number)")
    }
    private static let products: [(Identifier, ProductType)] = [
        ("basic", .autoRenewable), ("pro", .autoRenewable), ("life", .nonConsumable), ("season", .nonRenewing),
        ("coins", .consumable), ("unknown", .autoRenewable),
    ]

    init(using random: inout SeededGenerator) {
        var facts: [Fact] = []
        for original in 1...Int.random(in: 1...3, using: &random) {
            var known: [TransactionFact] = []
            for number in 1...Int.random(in: 1...5, using: &random) {
                var first = Self.transaction(original, number, using: &random)
                if let other = known.randomElement(using: &random), Bool.random(using: &random) {
                    first.value.identity = other.identity
                    first.value.expiresDate = other.expiresDate
                    first.value.webOrderLineItemID = other.webOrderLineItemID
                    if Bool.random(using: &random) { first.value.additionalTransactionReason = "SEAT_ADDITION" }
                }
                known.append(first)
                for _ in 1...Int.random(in: 1...4, using: &random) {
                    facts.append(.transaction(Self.revised(first, using: &random)))
                }
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                facts.append(.renewal(Self.renewal(original, using: &random)))
            }
        }
        self.facts = facts
        var links = AccountLinks()
        for (token, user) in zip(Self.tokens, ["anna", "ben", "carl"] as [Identifier]) where Bool.random(using: &random)
        { links.userByToken[token] = user }
        if Int.random(in: 0..<5, using: &random) == 0 { links.userByOriginalTransactionID["1"] = "dora" }
        self.links = links
    }

    private static func day(_ number: Int) -> Timestamp {
        Timestamp(milliseconds: 1_767_225_600_000 + Int64(number) * 86_400_000)
    }

    private static func transaction(_ original: Int, _ number: Int, using random: inout SeededGenerator)
        -> TransactionFact
    {
        let (product, type) = products.randomElement(using: &random) ?? ("basic", .autoRenewable)
        let purchaseDate = day(Int.random(in: 0...60, using: &random))
        let length = Int64.random(in: 1...20, using: &random)
        var members = TransactionMembers(
            key: TransactionKey(
                environment: .production, bundleID: Sample.bundleID, transactionID: "\(original)-\(number)"),
            track: .jws, revision: Sample.revision(signedDate: 0, content: ""), trust: .apple,
            identity: TransactionIdentity(
                originalTransactionID: "\(original)", productID: product, purchaseDate: purchaseDate, type: type,
                quantity: Int32.random(in: 1...2, using: &random)))
        members.expiresDate = Timestamp(milliseconds: purchaseDate.milliseconds + length * 86_400_000)
        members.webOrderLineItemID = ["71", "72", nil].randomElement(using: &random) ?? nil
        return TransactionFact(members)
    }

    private static func revised(_ fact: TransactionFact, using random: inout SeededGenerator) -> TransactionFact {
        var fact = fact
        if Int.random(in: 0..<5, using: &random) == 0, let end = fact.expiresDate {
            fact.value.expiresDate = Timestamp(milliseconds: end.milliseconds + 86_400_000)
        }
        fact.value.isUpgraded = Int.random(in: 0..<3, using: &random) == 0
        if Int.random(in: 0..<3, using: &random) == 0 {
            fact.value.revocation = Revocation(
                date: day(Int.random(in: 0...80, using: &random)),
                percentage: [nil, 33_333, 50_000].randomElement(using: &random) ?? nil)
        }
        if Bool.random(using: &random) { fact.value.appAccountToken = tokens.randomElement(using: &random) }
        if Bool.random(using: &random) { fact.value.appTransactionID = "\(Int.random(in: 1...2, using: &random))" }
        if Bool.random(using: &random) {
            fact.value.ownershipType = [.purchased, .purchased, .familyShared, .assigned].randomElement(using: &random)
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            fact.value.revokedSeatQuantity = Int32.random(in: 0...2, using: &random)
        }
        fact.value.track = Int.random(in: 0..<5, using: &random) == 0 ? .receipt : .jws
        if fact.track == .receipt {
            fact.value.ownershipType = nil
            fact.value.additionalTransactionReason = nil
            fact.value.revokedSeatQuantity = nil
            fact.value.appAccountToken = nil
            fact.value.appTransactionID = nil
        }
        fact.value.revision = Sample.revision(
            signedDate: Int64.random(in: 1...4, using: &random), content: "\(fact.value)")
        return fact
    }

    private static func renewal(_ original: Int, using random: inout SeededGenerator) -> RenewalFact {
        let ended = day(Int.random(in: 0...60, using: &random))
        let grace = ended.milliseconds + Int64.random(in: -1...6, using: &random) * 86_400_000
        var fact = RenewalFact(
            key: RenewalKey(environment: .production, originalTransactionID: "\(original)", trust: .apple),
            revision: Sample.revision(signedDate: 0, content: ""))
        fact.renewalDate = Bool.random(using: &random) ? ended : nil
        fact.gracePeriodExpiresDate = Timestamp(milliseconds: grace)
        fact.appAccountToken = Bool.random(using: &random) ? tokens.first : nil
        fact.revision = Sample.revision(signedDate: Int64.random(in: 1...4, using: &random), content: "\(fact)")
        return fact
    }
}

extension RandomHistory.Fact {
    var part: ObservedPart {
        switch self {
        case .transaction(let fact):
            ObservedPart(
                key: .transaction(fact.key),
                revision: PartRevision(track: fact.track, revision: fact.revision, identity: fact.identity))
        case .renewal(let fact): ObservedPart(key: .renewal(fact.key), revision: PartRevision(revision: fact.revision))
        }
    }
}
