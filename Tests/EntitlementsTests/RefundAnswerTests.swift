import AppStore
import Entitlements
import JSON
import TestSupport
import Testing

/// Answers to Apple's refund requests.
@Suite struct RefundAnswerTests {
    private static func evidence(
        _ type: ProductType? = .consumable, isDelivered: Bool = true, consumed: Int32 = 40_000, refunds: Int64 = 0
    ) -> RefundEvidence {
        RefundEvidence(type: type, isDelivered: isDelivered, consumed: consumed, refundsInYear: refunds)
    }

    @Test func `the first rule whose conditions hold decides, and else the app's preference`() {
        let rules = [
            RefundRule(.decline, consumedPercent: 50), RefundRule(.grantFull, refundsInYear: 2),
            RefundRule(nil, consumedPercent: 40),
        ]
        func preference(_ consumed: Int32, _ refunds: Int64) -> RefundPreference? {
            let evidence = Self.evidence(consumed: consumed, refunds: refunds)
            return RefundAnswer(evidence, rules: rules, otherwise: .grantProrated).preference
        }
        #expect(preference(50_000, 0) == .decline)
        #expect(preference(49_999, 2) == .grantFull)
        #expect(preference(40_000, 1) == nil)
        #expect(preference(39_999, 1) == .grantProrated)
    }

    @Test func `what was not delivered is consumed by nobody, and no rule declines its refund`() {
        let evidence = Self.evidence(isDelivered: false, consumed: 90_000)
        let answer = RefundAnswer(evidence, rules: [], otherwise: .decline)
        #expect(answer.consumptionPercentage == 0)
        #expect(answer.preference == nil)
        #expect(RefundAnswer(evidence, preference: .decline).preference == .decline)
    }

    @Test(arguments: [
        (ProductType.consumable, 0, "GRANT_FULL"), (.consumable, 1, "GRANT_PRORATED"),
        (.nonConsumable, 99_999, "GRANT_PRORATED"), (.nonRenewing, 100_000, "DECLINE"),
        (.autoRenewable, 100_000, "GRANT_PRORATED"), (.autoRenewable, 0, "GRANT_PRORATED"),
    ]) func `a prorated refund is preferred where Apple takes it`(type: ProductType, consumed: Int32, word: String) {
        let answer = RefundAnswer(Self.evidence(type, consumed: consumed), preference: .grantProrated)
        #expect(answer.preference?.rawValue.uppercased() == word)
        #expect((answer.consumptionPercentage == nil) == (type == .autoRenewable))
    }

    @Test(arguments: [
        (ProductType?.some(.consumable), 0, RefundPreference.grantProrated, 1, 1),
        (.autoRenewable, 99_999, .decline, 2, 2), (.consumable, 1, .grantProrated, 2, 0),
        (.autoRenewable, 100_000, .grantProrated, 3, 2), (nil, 0, .grantProrated, 0, 0), (nil, 0, .grantFull, 0, 1),
    ]) func `a purchase of Advanced Commerce is answered in the first version`(
        type: ProductType?, consumed: Int32, preferred: RefundPreference, status: Int32, number: Int
    ) {
        var evidence = Self.evidence(type, consumed: consumed)
        evidence.isAdvancedCommerce = true
        let preference = number > 0 ? #""refundPreference":\#(number),"# : ""
        let body = String(decoding: RefundAnswer(evidence, preference: preferred).json, as: UTF8.self)
        #expect(
            body == #"{"accountTenure":0,"appAccountToken":"","consumptionStatus":\#(status),"#
                + #""customerConsented":true,"deliveryStatus":0,"lifetimeDollarsPurchased":0,"#
                + #""lifetimeDollarsRefunded":0,"platform":0,"playTime":0,"# + preference
                + #""sampleContentProvided":false,"userStatus":0}"#)
    }

    @Test func `debits spend the oldest credits first, and a refund takes back what is left of its own`() {
        func credit(_ id: Identifier, _ amount: Int64, at date: Int64, takenBack: Int64 = 0, revoked: Int64? = nil)
            -> LedgerCredit
        {
            LedgerCredit(
                transactionID: id, productID: "chest", currency: "coins", userID: "anna", amount: amount,
                takenBack: takenBack, purchaseDate: Timestamp(milliseconds: date),
                revocationDate: revoked.map { Timestamp(milliseconds: $0) })
        }
        func debit(_ amount: Int64, at date: Int64) -> Consumption.Debit {
            Consumption.Debit(currency: "coins", amount: amount, date: Timestamp(milliseconds: date))
        }
        let credits = [credit("2", 100, at: 5), credit("1", 100, at: 1, takenBack: 100, revoked: 7)]
        func share(_ id: Identifier, _ debits: Consumption.Debit...) -> Int32 {
            Consumption.share(of: id, credits: credits, debits: debits)
        }
        #expect(share("1", debit(30, at: 2)) == 30_000)
        #expect(share("2", debit(30, at: 2)) == 0)
        #expect(share("2", debit(100, at: 6), debit(33, at: 8)) == 33_000)
        // The credit that was taken back serves no later debit.
        #expect(share("2", debit(50, at: 8)) == 50_000)
        #expect(share("2", debit(500, at: 8)) == 100_000)
        #expect(share("2", debit(50, at: 0)) == 0)
        #expect(share("3", debit(50, at: 8)) == 0)
    }

    @Test func `the reference computes the same answers in Python`() throws {
        let result = try ReferenceScript("entitlements/reference.py").run(["refunds", "2000", "1"])
        try #require(result.isSuccess, "\(result.text)")
        let lines = result.output.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 2_000)
        for line in lines {
            let root = try JSONDocument(parsing: Array(line)).root
            let answer = try Self.answer(root)
            let text = String(decoding: answer.json, as: UTF8.self)
            #expect(text == root["answer"]?.string, "\(String(decoding: line, as: UTF8.self))")
        }
    }

    private static func answer(_ root: JSONValue) throws -> RefundAnswer {
        let type = ProductType(rawValue: try #require(root["type"]?.string))
        var evidence = RefundEvidence(
            type: type.isUnknown ? nil : type, isDelivered: root["isDelivered"]?.bool == true,
            consumed: try consumed(type, root), refundsInYear: root["refundsInYear"]?.int64 ?? 0)
        evidence.wasTried = root["wasTried"]?.bool == true
        evidence.isAdvancedCommerce = root["isAdvancedCommerce"]?.bool == true
        func preference(_ value: JSONValue?) -> RefundPreference? {
            value?.string.flatMap(RefundPreference.init(rawValue:))
        }
        if let wanted = root["wanted"], !wanted.isNull { return RefundAnswer(evidence, preference: preference(wanted)) }
        let rules = try #require(root["rules"]).elements.map { rule in
            RefundRule(
                preference(rule["prefer"]), consumedPercent: rule["consumedPercent"]?.int64.map { Int32($0) },
                refundsInYear: rule["refundsInYear"]?.int64)
        }
        return RefundAnswer(evidence, rules: Array(rules), otherwise: preference(root["otherwise"]))
    }

    private static func consumed(_ type: ProductType, _ root: JSONValue) throws -> Int32 {
        func date(_ value: JSONValue?) -> Timestamp? { value?.int64.map { Timestamp(milliseconds: $0) } }
        func currency(_ value: JSONValue) -> Identifier { Identifier(value["currency"]?.string ?? "") }
        switch type {
        case .consumable:
            let credits = try #require(root["credits"]).elements.map { credit in
                LedgerCredit(
                    transactionID: Identifier(credit["id"]?.string ?? ""), productID: "chest",
                    currency: currency(credit), userID: "anna", amount: credit["amount"]?.int64 ?? 0,
                    takenBack: credit["takenBack"]?.int64 ?? 0, purchaseDate: date(credit["date"]) ?? .earliest,
                    revocationDate: date(credit["revoked"]))
            }
            let debits = try #require(root["debits"]).elements.map { debit in
                Consumption.Debit(
                    currency: currency(debit), amount: debit["amount"]?.int64 ?? 0,
                    date: date(debit["date"]) ?? .earliest)
            }
            return Consumption.share(of: "1", credits: Array(credits), debits: Array(debits))
        case .autoRenewable, .nonRenewing:
            let period = Period(start: try #require(date(root["start"])), end: date(root["end"]))
            return Consumption.share(of: period, until: try #require(date(root["now"])))
        case .nonConsumable, .other: return Revocation.wholePercentage
        }
    }
}
