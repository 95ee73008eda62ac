import AppStore
package import Entitlements
package import Records
package import Store

/// The subject of one observation for the rules of ownership.
package enum LinkSubject {
    case purchase(PurchaseKey)
    /// A renewal info alone; it belongs to the purchases with the same trust.
    case renewal(RenewalKey)
    /// An app transaction: the Apple Account behind an app, without a purchase.
    case account(AppTransactionGroup)
    case nothing
}

/// The facts of one batch about owners, by the newest revision of each observation.
package struct LinkBatch {
    private struct FactKey: Hashable {
        let transaction: TransactionKey
        let track: Track
    }

    struct ClaimKey: Hashable {
        let transaction: TransactionKey
        let userID: Identifier
    }

    /// The facts, one for each transaction and track.
    private(set) var transactions: [TransactionFact] = []
    private var places: [FactKey: Int] = [:]
    private(set) var renewals: [RenewalKey: RenewalFact] = [:]
    /// The earliest claim of each transaction and user.
    private(set) var claims: [ClaimKey: OwnershipFactTables.Claim] = [:]
    /// The scopes to lock and read.
    private(set) var scopes: Set<PurchaseScope> = []
    private(set) var groups: Set<AppTransactionGroup> = []
    /// Accounts named by app transactions; they may have no purchase in the batch.
    private(set) var accounts: Set<AppTransactionGroup> = []

    package init(recordsExpected: Int) {
        transactions.reserveCapacity(recordsExpected)
        places.reserveCapacity(recordsExpected)
        scopes.reserveCapacity(recordsExpected)
        groups.reserveCapacity(recordsExpected)
    }

    /// Creates a batch without facts that finds the owners of these purchases again.
    package init(reviewing scopes: some Sequence<PurchaseScope>, and groups: Set<AppTransactionGroup>) {
        self.scopes = Set(scopes)
        self.groups = groups
    }

    /// Whether the batch concerns no purchase and no account.
    var isEmpty: Bool { scopes.isEmpty && groups.isEmpty }

    /// Adds the facts of one observation.
    package mutating func add(_ observation: Observation) -> LinkSubject {
        let facts = observation.facts
        if let renewal = facts.renewal { add(renewal) }
        if let fact = facts.transaction {
            add(fact, observation.claim)
            let account = fact.appTransactionID ?? facts.renewal?.appTransactionID
            if let account { groups.insert(fact.purchaseKey.group(account)) }
            return .purchase(fact.purchaseKey)
        }
        if let renewal = facts.renewal { return .renewal(renewal.key) }
        guard let group = facts.appTransaction?.group else { return .nothing }
        groups.insert(group)
        accounts.insert(group)
        return .account(group)
    }

    private mutating func add(_ fact: TransactionFact, _ claim: UserClaim?) {
        let key = FactKey(transaction: fact.key, track: fact.track)
        if let place = places[key] {
            transactions[place] = transactions[place].joined(with: fact)
        } else {
            places[key] = transactions.count
            transactions.append(fact)
        }
        scopes.insert(fact.purchaseKey.scope)
        if let claim { add(claim, of: fact) }
    }

    private mutating func add(_ claim: UserClaim, of fact: TransactionFact) {
        let key = ClaimKey(transaction: fact.key, userID: claim.userID)
        if let other = claims[key]?.claim, other.position <= claim.position { return }
        claims[key] = (fact.purchaseKey, claim)
    }

    private mutating func add(_ fact: RenewalFact) {
        renewals[fact.key] = renewals[fact.key]?.joined(with: fact) ?? fact
        scopes.insert(fact.key.scope)
    }
}
