package import Entitlements
package import Records

/// All verified facts, independent of the order and the number of their arrivals.
///
/// The set is the reference of the database's tables.
package struct FactSet: Sendable {
    package private(set) var transactions: [TransactionKey: [Track: TransactionFact]] = [:]
    package private(set) var renewals: [RenewalKey: RenewalFact] = [:]
    package private(set) var spans: [RenewalKey: Set<RenewalSpan>] = [:]
    package private(set) var claims: [PurchaseKey: Set<UserClaim>] = [:]

    package init() {}

    /// Adds a fact; the greatest revision of each track stays, with what an older one named and what
    /// a receipt took back.
    ///
    /// - Returns: the field that contradicts what is known of the ID; the fact was not added then,
    ///   as what came first stands until a person decides.
    @discardableResult package mutating func add(_ fact: TransactionFact) -> ImmutableField? {
        let known = transactions[fact.key] ?? [:]
        if case .conflict(let field) = fact.part.verdict(against: known.values.map(\.part)) { return field }
        let former = known[fact.track]
        transactions[fact.key, default: [:]][fact.track] = former?.joined(with: fact) ?? fact
        return nil
    }

    /// Adds a fact; the greatest revision stays, with what an older one named, and every span that
    /// one ever stated.
    package mutating func add(_ fact: RenewalFact) {
        if !fact.spans.isEmpty { spans[fact.key, default: []].formUnion(fact.spans) }
        renewals[fact.key] = renewals[fact.key]?.joined(with: fact) ?? fact
    }

    package mutating func add(_ claim: UserClaim, on purchase: PurchaseKey) {
        claims[purchase, default: []].insert(claim)
    }
}

extension FactSet {
    /// Adds what an observation states.
    ///
    /// - Returns: as `add(_:)` of a transaction.
    @discardableResult package mutating func add(_ observation: Observation) -> ImmutableField? {
        if let fact = observation.facts.renewal { add(fact) }
        guard let fact = observation.facts.transaction else { return nil }
        if let conflict = add(fact) { return conflict }
        if let claim = observation.claim { add(claim, on: fact.purchaseKey) }
        return nil
    }
}
