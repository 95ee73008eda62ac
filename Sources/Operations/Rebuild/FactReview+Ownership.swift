import AppStore
import Entitlements
import Store

extension FactReview {
    /// Compares what `ownership_facts` holds beside transactions that are as they should be.
    mutating func reviewOwnership(
        of facts: [TransactionFact],
        _ known: [OwnershipKey: TransactionFact]
    ) async throws {
        let expected: [TransactionFact] = facts.compactMap { fact in
            let known = known[OwnershipKey(fact)]
            guard known != nil || isOfOwners else { return nil }
            return fact.ownershipFact(known)
        }
        guard !expected.isEmpty else { return }
        for replaced in try await connection.run(OwnershipFactTables.replaceFacts, expected) {
            let fact = expected[replaced.index]
            let isBehind = known[OwnershipKey(fact)].map { $0.revision < fact.revision }
            let fault = FactFinding.Fault(replaced, isBehind: isBehind ?? false)
            findings.append(FactFinding("ownership_facts", fact, fault))
        }
    }

    /// Compares what `ownership_renewals` holds beside renewal infos that are as they should be.
    mutating func reviewOwnership(
        of facts: [RenewalFact],
        _ known: [RenewalKey: RenewalFact]
    ) async throws {
        let expected: [RenewalFact] = facts.compactMap { fact in
            guard let known = known[fact.key] else { return isOfOwners ? fact : nil }
            return fact.ownershipFact(known)
        }
        guard !expected.isEmpty else { return }
        for replaced in try await connection.run(OwnershipFactTables.replaceRenewals, expected) {
            let fact = expected[replaced.index]
            let isBehind = known[fact.key].map { $0.revision < fact.revision }
            let fault = FactFinding.Fault(replaced, isBehind: isBehind ?? false)
            findings.append(FactFinding("ownership_renewals", fact.key, fault))
        }
    }
}

/// A row of `ownership_facts`.
struct OwnershipKey: Hashable {
    let scope: PurchaseScope
    let subject: RevisionTable.Subject

    init(_ fact: TransactionFact) {
        scope = fact.purchaseKey.scope
        subject = fact.subject
    }
}

extension TransactionFact {
    /// The row that `ownership_facts` should hold.
    ///
    /// link-worker's rows are never behind, so a row of a content that entitle-worker has not seen
    /// is left as it is.
    ///
    /// - Parameter known: the present row, if it exists.
    fileprivate func ownershipFact(_ known: TransactionFact?) -> TransactionFact {
        guard let known else { return self }
        var expected = self
        if known.revision.contentHash == revision.contentHash {
            expected.revision = max(known.revision, revision)
        } else if known.revision > revision {
            expected = known
        }
        guard track == .receipt else { return expected }
        let taken = joined(with: known)
        expected.revocation = taken.revocation
        expected.olderRevoking = taken.revoking == expected.revision ? nil : taken.revoking
        return expected
    }
}

extension RenewalFact {
    fileprivate func ownershipFact(_ known: RenewalFact) -> RenewalFact {
        var expected = self
        if known.revision.contentHash == revision.contentHash {
            expected.revision = max(known.revision, revision)
        } else if known.revision > revision {
            expected = known
        }
        return expected
    }
}
