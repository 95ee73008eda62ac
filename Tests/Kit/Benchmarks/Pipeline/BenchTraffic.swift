import Simulation

/// The records that `bench pipeline` publishes.
///
/// They are purchases as an app's servers see them, most of them new ones, somewhat out of order,
/// of linked users with several purchases. Each is a function of its index, so that nothing has to be kept.
enum BenchTraffic {
    /// A share of the traffic.
    enum Part: Equatable {
        case first, renewal, repeated, consumable, nonConsumable, revoked, forged

        init(percent: UInt64) {
            self =
                switch percent {
                case ..<58: .first
                case ..<78: .renewal
                case ..<88: .repeated
                case ..<93: .consumable
                case ..<97: .nonConsumable
                case ..<99: .revoked
                default: .forged
                }
        }

        /// Whether it is a purchase, which later records may be about.
        var isPurchase: Bool { self == .first || self == .consumable || self == .nonConsumable }
    }

    private static let windowCount = 200
    /// Maximum distance between a record and its purchase, in records.
    private static let distanceMax = 2_000
    /// Index of the purchases that come alone, behind all others.
    private static let loneFirst = 1 << 40

    /// The users of all purchases, of which as many are measured as a few minutes allow.
    static let users = [0..<400_000, loneFirst..<(loneFirst + LonePurchases.allRoundsCount)].map(BenchTransaction.users)

    static func body(_ index: Int, _ authority: CertificateAuthority) throws -> [UInt8] {
        let (part, payload) = payload(at: index)
        return part == .forged ? try authority.forge(payload, .flippedSignature) : try authority.sign(payload)
    }

    /// A first purchase that has nothing to do with the other records.
    static func lonePurchase(_ number: Int, _ authority: CertificateAuthority) throws -> [UInt8] {
        try authority.sign(fields(.first, loneFirst + number).json)
    }

    /// The indexes of published records by the transactions that only these records are about.
    static func indexes(_ range: Range<Int>) -> [String: Int] {
        var indexes: [String: Int] = [:]
        for index in range {
            let number = shuffled(index)
            let part = part(number)
            if part.isPurchase || part == .renewal { indexes[BenchTransaction.id(number)] = index }
        }
        for number in range.lowerBound..<(range.upperBound + distanceMax) where part(number) == .revoked {
            indexes[BenchTransaction.id(purchase(before: number))] = nil
        }
        return indexes
    }

    /// The payload at this position.
    static func payload(at index: Int) -> (part: Part, json: [UInt8]) {
        let number = shuffled(index)
        let part = part(number)
        let purchase = part.isPurchase || part == .forged ? number : purchase(before: number)
        var fields = fields(self.part(purchase), purchase)
        switch part {
        case .first, .consumable, .nonConsumable, .repeated, .forged: break
        case .renewal:
            let months = 1 + Int64(random(number, 3) % 11)
            fields.transactionID = BenchTransaction.id(number)
            fields.webOrderLineItemID = BenchTransaction.id(number)
            fields.purchaseDate = BenchTransaction.date(months: months)
            fields.expiresDate = BenchTransaction.date(months: months + 1)
            fields.transactionReason = "RENEWAL"
        case .revoked:
            fields.revocationDate = BenchTransaction.date(months: 1) - 86_400_000
            fields.revocationReason = 0
            fields.signedDate = fields.revocationDate
        }
        return (part, fields.json)
    }

    /// A purchase; its account token is absent from one in five.
    private static func fields(_ part: Part, _ number: Int) -> TransactionFields {
        var fields = BenchTransaction.fields(number)
        if random(number, 2) % 5 == 0, number < loneFirst { fields.appAccountToken = nil }
        if part == .consumable || part == .nonConsumable {
            let isConsumable = part == .consumable
            fields.productID = isConsumable ? BenchTransaction.coins : BenchTransaction.lifetime
            fields.type = isConsumable ? "Consumable" : "Non-Consumable"
            fields.expiresDate = nil
            fields.subscriptionGroupIdentifier = nil
            fields.webOrderLineItemID = nil
            fields.offerDiscountType = nil
            fields.offerPeriod = nil
        }
        return fields
    }

    private static func part(_ number: Int) -> Part {
        let part = Part(percent: random(number, 0) % 100)
        let hasPast = number >= distanceMax
        return hasPast || part.isPurchase || part == .forged ? part : .first
    }

    /// The purchase that a renewal, a repeat or a revocation is about; a renewal's is a
    /// subscription.
    private static func purchase(before number: Int) -> Int {
        let isRenewal = part(number) == .renewal
        let nearest = number - 1 - Int(random(number, 1) % UInt64(distanceMax - 100))
        for other in stride(from: nearest, through: 0, by: -1)
        where isRenewal ? part(other) == .first : part(other).isPurchase { return other }
        return 0
    }

    /// The number at this position, if each window of numbers is in random order.
    private static func shuffled(_ index: Int) -> Int {
        let window = index / windowCount
        var random = SeededGenerator(seed: UInt64(window))
        let order = (0..<windowCount).shuffled(using: &random)
        return window * windowCount + order[index % windowCount]
    }

    private static func random(_ number: Int, _ question: Int) -> UInt64 {
        var random = SeededGenerator(seed: UInt64(number &* 4 &+ question))
        return random.next()
    }
}
