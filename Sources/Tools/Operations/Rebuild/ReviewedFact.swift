import AppStore
import Entitlements
import Postgres
import Records
import Store

/// A fact whose row a rebuild derives again from the contents in `revisions`.
protocol ReviewedFact: Sendable {
    static var table: ReviewedTable<Self> { get }
    /// The key path of the fact in derived facts; its value is `nil` for a content of another kind.
    static var signed: KeyPath<SignedFacts, Self?> { get }

    /// The ID whose contents the fact is derived from.
    var subject: RevisionTable.Subject { get }
    /// The purchase of the fact.
    ///
    /// `nil` for an app transaction.
    var purchase: PurchaseScope? { get }
    var trust: Trust { get }
    var revision: Revision { get set }
}

extension ReviewedFact {
    /// Returns the question for a content of the same ID and trust.
    func question(_ revision: Revision) -> RecordedContents.Question {
        RecordedContents.Question(subject: subject, trust: trust, revision: revision)
    }
}

/// A fact that is also stored in a table of `link-worker`.
protocol OwnedFact: ReviewedFact {
    associatedtype Members: OwnerNaming

    static var ownershipTable: ReviewedTable<Self> { get }

    var members: Members { get set }
    /// The columns that name older contents, with the revisions of these contents.
    var olderRevisions: [(column: String, revision: Revision)] { get }

    func joined(with other: Self) -> Self

    /// Returns the correct row of the ownership table, given its known row.
    func ownershipFact(_ known: Self) -> Self
}

extension OwnedFact {
    /// The key of the row in the ownership table.
    var ownershipKey: OwnershipKey {
        OwnershipKey(purchase: purchase, subject: subject, trust: subject.kind == .renewal ? trust : nil)
    }

    func ownershipFact(_ known: Self) -> Self { newest(known) }

    var olderNames: [(column: String, revision: Revision)] {
        [
            ("token_content_hash", members.olderNaming.token),
            ("app_transaction_content_hash", members.olderNaming.appTransaction),
        ].compactMap { column, revision in revision.map { (column, $0) } }
    }

    /// Returns the newer of both facts.
    ///
    /// Rows of `link-worker` are never older, so a row or name from a content that `entitle-worker`
    /// has not processed is kept.
    fileprivate func newest(_ known: Self) -> Self {
        guard known.revision.contentHash == revision.contentHash || known.revision < revision else {
            var unseen = known
            unseen.members.keepNames(of: members)
            return unseen
        }
        var expected = self
        expected.revision = max(known.revision, revision)
        var named = known.members
        // The newest content was read, so only an older content may add names.
        if named.olderNaming.token == nil { named.appAccountToken = nil }
        if named.olderNaming.appTransaction == nil { named.appTransactionID = nil }
        expected.members.keepNames(of: named)
        return expected
    }
}

struct OwnershipKey: Hashable {
    let purchase: PurchaseScope?
    let subject: RevisionTable.Subject
    /// The trust; part of the key only for renewal info.
    let trust: Trust?
}

/// A table of facts, and the statement that overwrites its differing rows.
struct ReviewedTable<Fact: Sendable>: Sendable {
    let name: String
    let replace: Statement<[Fact], ReplacedRow>
}

/// A fact from its row or, if the row is missing, the part of the fact that other tables contain.
struct ReviewedRow<Fact: ReviewedFact> {
    let fact: Fact
    var isMissing = false
    /// The content with the latest first signature.
    ///
    /// `nil` without a content.
    var newest: RevisionTable.Content?

    /// The revision from which the fact is derived.
    var revision: Revision {
        guard let newest else { return fact.revision }
        // Use the only stored content; a content that other tables name is still in the pipeline.
        if isMissing, newest.count == 1, newest.revision.contentHash != fact.revision.contentHash {
            return newest.revision
        }
        return max(newest.revision, fact.revision)
    }
}

extension TransactionFact: ReviewedFact, OwnedFact {
    static var table: ReviewedTable<TransactionFact> {
        ReviewedTable(name: "transactions", replace: TransactionTable.replace)
    }

    static var ownershipTable: ReviewedTable<TransactionFact> {
        ReviewedTable(name: "ownership_facts", replace: OwnershipFactTables.replaceFacts)
    }

    static var signed: KeyPath<SignedFacts, TransactionFact?> { \.transaction }

    var subject: RevisionTable.Subject {
        RevisionTable.Subject(
            kind: .transaction, environment: value.key.environment, bundleID: value.key.bundleID,
            id: value.key.transactionID, track: value.track)
    }

    var purchase: PurchaseScope? { value.purchaseKey.scope }
    var trust: Trust { value.trust }

    var revision: Revision {
        get { value.revision }
        set { value.revision = newValue }
    }

    var members: TransactionMembers {
        get { value }
        set { value = newValue }
    }

    var olderRevisions: [(column: String, revision: Revision)] {
        olderNames + (value.revoking.map { [("revoked_content_hash", $0)] } ?? [])
    }

    func ownershipFact(_ known: TransactionFact) -> TransactionFact {
        var expected = newest(known)
        guard value.track == .receipt else { return expected }
        let taken = joined(with: known)
        expected.value.revocation = taken.revocation
        expected.value.olderRevoking = taken.revoking == expected.revision ? nil : taken.revoking
        return expected
    }
}

extension RenewalFact: OwnedFact {
    static let table = ReviewedTable(name: "renewals", replace: RenewalTable.replace)
    static let ownershipTable = ReviewedTable(name: "ownership_renewals", replace: OwnershipFactTables.replaceRenewals)

    static var signed: KeyPath<SignedFacts, RenewalFact?> { \.renewal }

    var subject: RevisionTable.Subject { key.scope.renewals }
    var purchase: PurchaseScope? { key.scope }
    var trust: Trust { key.trust }

    var members: RenewalFact {
        get { self }
        set { self = newValue }
    }

    var olderRevisions: [(column: String, revision: Revision)] { olderNames }
}

extension AppTransactionFact: ReviewedFact {
    static let table = ReviewedTable(name: "app_downloads", replace: AppDownloadTable.replace)

    static var signed: KeyPath<SignedFacts, AppTransactionFact?> { \.appTransaction }

    var subject: RevisionTable.Subject {
        RevisionTable.Subject(kind: .appTransaction, environment: environment, bundleID: bundleID, id: id, track: track)
    }

    var purchase: PurchaseScope? { nil }
}

extension PurchaseScope {
    /// The subject of the purchase's renewal infos, with any trust.
    var renewals: RevisionTable.Subject {
        RevisionTable.Subject(
            kind: .renewal, environment: environment, bundleID: "", id: originalTransactionID, track: .jws)
    }

    func renewalKey(_ trust: Trust) -> RenewalKey {
        RenewalKey(environment: environment, originalTransactionID: originalTransactionID, trust: trust)
    }
}
