import AppStore
import Entitlements
import TestSupport
import Testing

/// The names that a newer revision lacks: any order of the revisions gives the same fact.
struct OwnerNamingTests {
    private static let tokens = (1...2).compactMap { AccountToken("00000000-0000-4000-8000-00000000000\($0)") }

    private static func transaction(
        _ signed: Int64, token: AccountToken? = nil, account: Identifier? = nil,
        in environment: Environment = .production
    ) -> TransactionFact {
        var fact = Sample.transaction(.jws, signedDate: signed, purchaseDate: 1)
        fact.value.key.environment = environment
        fact.value.appAccountToken = token
        fact.value.appTransactionID = account
        return fact
    }

    private static func joined(_ facts: [TransactionFact]) -> Set<TransactionFact> {
        Set(
            facts.permutations.flatMap { order in
                [order, order + order].compactMap { repeated in
                    repeated.dropFirst().reduce(repeated.first) { $0?.joined(with: $1) }
                }
            })
    }

    @Test func `each name is that of the newest revision that has one`() throws {
        let facts = Self.joined([
            Self.transaction(1, token: Self.tokens[0], account: "701"), Self.transaction(2, token: Self.tokens[1]),
            Self.transaction(3),
        ])
        let fact = try #require(facts.first)
        #expect(facts.count == 1)
        #expect(fact.revision.signedDate.milliseconds == 3)
        #expect(fact.appAccountToken == Self.tokens[1])
        #expect(fact.olderNaming.token?.signedDate.milliseconds == 2)
        #expect(fact.appTransactionID == "701")
        #expect(fact.olderNaming.appTransaction?.signedDate.milliseconds == 1)
    }

    @Test func `a name of the newest revision is nobody else's`() throws {
        let newest = Self.transaction(3, token: Self.tokens[0], account: "701")
        let facts = Self.joined([Self.transaction(1, token: Self.tokens[1]), newest])
        #expect(facts == [newest])
    }

    @Test func `IDs that begin again keep no name`() {
        let newest = Self.transaction(2, in: .xcode)
        let facts = Self.joined([Self.transaction(1, token: Self.tokens[0], account: "701", in: .xcode), newest])
        #expect(facts == [newest])
    }

    @Test func `a forgotten token stays forgotten until it is signed again`() throws {
        let named = Self.transaction(2, token: Self.tokens[0])
        for later in [[], [Self.transaction(3)]] {
            var forgotten = later.reduce(named) { $0.joined(with: $1) }
            forgotten.value.forgetToken()
            for repeated in [named, Self.transaction(1, token: Self.tokens[1])] + later {
                #expect(forgotten.joined(with: repeated).appAccountToken == nil)
            }
            let again = Self.transaction(4, token: Self.tokens[0])
            #expect(forgotten.joined(with: again).appAccountToken == Self.tokens[0])
        }
    }

    @Test func `the newest renewal info that names a token counts, under any trust`() {
        let local = Trust(text: String(repeating: "ab", count: 32))
        let named: [(signed: Int64, token: AccountToken?, trust: Trust)] = [
            (1, Self.tokens[0], .apple), (2, nil, local ?? .apple),
        ]
        let infos = named.map { signed, token, trust in
            var info = RenewalFact(
                key: RenewalKey(environment: .production, originalTransactionID: "1000", trust: trust),
                revision: Sample.revision(signedDate: signed, content: "\(signed)"))
            info.appAccountToken = token
            return info
        }
        let transactions = infos.map { info in
            var fact = Self.transaction(info.revision.signedDate.milliseconds)
            fact.value.trust = info.key.trust
            fact.value.key.transactionID = "\(info.key.trust.text)"
            return fact
        }
        for renewals in infos.permutations {
            let facts = OwnershipFacts(
                of: transactions[0].purchaseKey, transactions: transactions, renewals: renewals, claims: [])
            #expect(facts.renewalToken == Self.tokens[0])
        }
    }
}
