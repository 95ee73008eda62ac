import AppStore
package import Entitlements
import JSON
import OpenSSL
import Records
package import Store

/// The result of one record.
package enum EntitleOutcome: Hashable {
    /// The record changed a fact or a row.
    case applied
    /// All content of the record was known.
    case unchanged
    /// The record is older than the known revision; it is stored in the history.
    case superseded
    /// The record contains no fact; it is stored in the history.
    case recorded
    case conflict(ImmutableField)
}

/// Adds the records of a batch one by one, and compares each with the facts known so far.
package struct BatchFold {
    private(set) var states: [ScopeState] = []
    package private(set) var outcomes: [EntitleOutcome] = []
    /// The purchases to project, each with the record or cause that explains a change best.
    private(set) var occasions: [PurchaseKey: ProjectionOccasion] = [:]
    private(set) var history = History()
    package private(set) var meanings: [NotificationMeaning] = []
    private var relinked: [Int: PurchaseKey] = [:]
    private var originals: [TransactionKey: Identifier] = [:]
    private(set) var stateIndexes: [PurchaseScope: Int] = [:]

    package init(scopes: [PurchaseScope]) {
        states.reserveCapacity(scopes.count)
        stateIndexes.reserveCapacity(scopes.count)
        occasions.reserveCapacity(scopes.count)
        originals.reserveCapacity(scopes.count)
        for scope in scopes {
            stateIndexes[scope] = states.count
            states.append(ScopeState(scope))
        }
    }

    mutating func withState(of scope: PurchaseScope, _ body: (inout ScopeState) -> Void) {
        guard let stateIndex = stateIndexes[scope] else { return }
        body(&states[stateIndex])
    }

    /// Visits each purchase without a copy, by its scope's state and its index in that state.
    func forEachPurchase(_ body: (borrowing ScopeState, _ purchase: Int) -> Void) {
        for index in states.indices {
            for purchase in states[index].purchases.indices { body(states[index], purchase) }
        }
    }

    /// The scopes whose closed periods a record may change.
    package func scopes(reopenedBy records: [EntitleRecord]) -> [PurchaseScope] {
        guard states.contains(where: { $0.closed != nil }) else { return [] }
        var reopened: Set<PurchaseScope> = []
        for record in records {
            var scopes: Set<PurchaseScope> = []
            record.insertScopes(into: &scopes)
            for scope in scopes {
                guard let stateIndex = stateIndexes[scope], let closed = states[stateIndex].closed else { continue }
                if closed.isReopened(by: record) { reopened.insert(scope) }
            }
        }
        return Array(reopened)
    }

    /// Replaces states by those that were read again.
    package mutating func replace(by other: BatchFold) {
        for state in other.states { if let stateIndex = stateIndexes[state.scope] { states[stateIndex] = state } }
    }

    package mutating func add(_ record: EntitleRecord, refused: ImmutableField?) {
        let index = outcomes.count
        let outcome = refused.map { .conflict($0) } ?? addParts(of: record, at: index)
        outcomes.append(outcome)
    }

    /// Marks all purchases for a projection, even if no record changes them.
    mutating func markAll(_ cause: ChangeCause) {
        for state in states {
            for purchase in state.purchases { occasions[state.scope.purchase(purchase.bundleID)] = .other(cause) }
        }
    }

    /// Marks all purchases of the scopes for a projection, for a cause other than a record.
    package mutating func mark(_ scopes: [PurchaseScope], _ cause: ChangeCause) {
        for scope in scopes {
            guard let stateIndex = stateIndexes[scope] else { continue }
            for purchase in states[stateIndex].purchases {
                occasions[scope.purchase(purchase.bundleID)] = .other(cause)
            }
        }
    }

    /// Marks the purchases whose owner has changed since their last projection.
    ///
    /// The new owner counts even if the purchase's record is a duplicate or is refused.
    package mutating func markOwnerChanges() {
        var changed: [(PurchaseKey, ProjectionOccasion)] = []
        forEachPurchase { state, index in
            guard state.purchases[index].state.ownerChange != nil else { return }
            let rule = state.purchases[index].state.ownership.rule
            let key = state.scope.purchase(state.purchases[index].bundleID)
            changed.append((key, .other(ChangeCause(.link, id: rule.rawValue))))
        }
        occasions.merge(changed) { known, _ in known }
    }

    /// Sets the outcome of the records that only report a changed owner, by whether a row changed.
    package mutating func settleRelinked(changed: Set<PurchaseKey>) {
        for (index, key) in relinked where changed.contains(key) { outcomes[index] = .applied }
    }

    private mutating func addParts(of record: EntitleRecord, at index: Int) -> EntitleOutcome {
        guard !record.isDuplicate else { return .unchanged }
        if let key = record.relinkedPurchase {
            relinked[index] = key
            occasions[key] = occasions[key] ?? .record(record)
            return .unchanged
        }
        let transaction = record.transaction.map { add($0, of: record) }
        if case .conflict(let field) = transaction { return .conflict(field) }
        let renewal = record.renewal.map { add($0, of: record) }
        addHistory(of: record)
        guard transaction != nil || renewal != nil else { return .recorded }
        if transaction == .new || renewal == .new { return .applied }
        return transaction == .superseded || renewal == .superseded ? .superseded : .unchanged
    }

    private mutating func add(_ fact: TransactionFact, of record: EntitleRecord) -> PartVerdict {
        let purchase = fact.purchaseKey
        guard let stateIndex = stateIndexes[purchase.scope] else { return .conflict(.originalTransactionID) }
        if fact.key.environment.reusesIDs {
            if let newer = takeOver(fact, record) { return newer }
        } else if let original = originals[fact.key], original != purchase.originalTransactionID {
            return .conflict(.originalTransactionID)
        }
        let (verdict, isFirst) = states[stateIndex][purchase.bundleID].apply(fact)
        if case .conflict = verdict { return verdict }
        originals[fact.key] = purchase.originalTransactionID
        mark(purchase, record, verdict: verdict)
        if verdict.isContent, let payload = record.payloads[.transaction] {
            history.add(fact, isFirst: isFirst, payload, of: record)
        }
        return verdict
    }

    /// Removes a transaction from its former purchase after its ID was reused.
    ///
    /// - Returns: a verdict if the former purchase keeps the ID, because its revision is newer.
    private mutating func takeOver(_ fact: TransactionFact, _ record: EntitleRecord) -> PartVerdict? {
        let key = fact.purchaseKey
        for index in states.indices where states[index].scope != key.scope {
            guard let former = states[index][key.bundleID].known(as: fact) else { continue }
            guard former.revision < fact.revision else { return .superseded }
            states[index][key.bundleID].remove(former)
            occasions[former.purchaseKey] = occasions[former.purchaseKey] ?? .record(record)
        }
        return nil
    }

    private mutating func add(_ fact: RenewalFact, of record: EntitleRecord) -> PartVerdict {
        guard let stateIndex = stateIndexes[fact.key.scope] else { return .duplicate }
        let verdict = states[stateIndex].apply(fact)
        for bundleID in states[stateIndex].bundleIDs(joinedBy: fact.key) {
            mark(fact.key.scope.purchase(bundleID), record, verdict: verdict)
        }
        if verdict.isContent, let payload = record.payloads[.renewalInfo] { history.add(fact, payload, of: record) }
        return verdict
    }

    private mutating func mark(_ purchase: PurchaseKey, _ record: EntitleRecord, verdict: PartVerdict) {
        if verdict == .new || occasions[purchase] == nil { occasions[purchase] = .record(record) }
    }

    private mutating func addHistory(of record: EntitleRecord) {
        if let fact = record.facts.appTransaction, let payload = record.payloads[.appTransaction] {
            history.add(fact, payload, of: record)
        }
        if let notification = record.notification, record.source != nil {
            let meaning = NotificationMeaning(type: notification.type, subtype: notification.subtype).with(
                record.facts.renewal)
            meanings.append(meaning)
            history.add(notification, meaning, of: record)
        }
    }
}

extension PartVerdict {
    /// Whether the content may be missing from the history.
    fileprivate var isContent: Bool { self == .new || self == .superseded }
}
