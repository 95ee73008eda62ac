import AppStore
import Entitlements
import Postgres
import Store
import Records

/// A transaction that adds the facts of a batch and finds the owners of its purchases.
///
/// It locks the affected Apple Accounts first, then the purchases. Every change of a purchase's
/// owner holds the lock of its account. So two workers never process purchases of one account,
/// which may name each other's owner, at the same time.
struct LinkTransaction {
    private let connection: PostgresConnection
    private let batch: LinkBatch
    private let rules: OwnershipRules
    /// Whether records of the batch's purchases are forwarded, by which `entitle-worker` projects them.
    private let hasRecords: Bool
    private let newRows: NewRows
    /// Whether the session has a copy of the owners in a snapshot, where no lock is needed.
    private let isPlan: Bool

    private var locked: Set<AppTransactionGroup>
    /// The batch's purchases, followed by others that depend on them.
    private var purchases: [LinkedPurchase] = []
    private var newFacts = NewOwnershipFacts()
    private var linkKinds: Set<LinkKind> = []
    private var links: [AppScope: AccountLinks] = [:]
    private var siblings: [AppTransactionGroup: SiblingOwner] = [:]
    private var claims: OwnershipFactTables.RaisedClaims?

    init(
        connection: PostgresConnection, batch: LinkBatch, rules: OwnershipRules, hasRecords: Bool,
        newRows: NewRows = .upserted, locking groups: Set<AppTransactionGroup> = [], isPlan: Bool = false
    ) {
        self.connection = connection
        self.batch = batch
        self.rules = rules
        self.hasRecords = hasRecords
        self.newRows = newRows
        self.isPlan = isPlan
        locked = batch.groups.union(groups)
    }

    mutating func run() async throws -> LinkOutcome {
        try await lockAndRead()
        try await readLinksAndGroups()
        let oursCount = hasRecords ? purchases.count : 0
        let changed = try await settleGroups()
        try await readDependants(of: changed)
        for index in purchases.indices { purchases[index].owner = owner(of: purchases[index]) }
        try await write(oursCount)
        return LinkOutcome(
            purchases: purchases, renewed: Set(batch.renewals.keys.map(\.scope)), accounts: accounts(), claims: claims)
    }

    private mutating func lockAndRead() async throws {
        let scopes = Array(batch.scopes)
        var pipeline = Pipeline()
        if !isPlan {
            pipeline.add(Locks.sharedLinks)
            pipeline.add(Locks.accounts, Array(locked))
            pipeline.add(Locks.ownership, scopes)
        }
        let raised = pipeline.add(OwnershipFactTables.raiseClaims, unlessEmpty: Array(batch.claims.values))
        let kinds = pipeline.add(AccountLinkTable.kinds)
        let reading = OwnershipReading(scopes, restores: rules.movesRestored, in: &pipeline)
        let answers = try await connection.run(pipeline)
        // A link of another kind that is written from now on is applied after this transaction, which
        // shares the lock of the links.
        linkKinds = Set(answers[kinds]).union(rules.tokensAreUserIDs ? [] : [.accountToken])
        claims = raised.map { answers[$0][0] }
        let (read, new) = reading.purchases(answers, adding: batch.transactions, batch.renewals)
        purchases = read.map { LinkedPurchase($0) }
        newFacts = new
    }

    /// Reads the links, and the users that the accounts' other purchases name.
    private mutating func readLinksAndGroups() async throws {
        let groups = Array(touchedGroups)
        let missing = Set(groups).subtracting(locked)
        if !isPlan, !missing.isEmpty { throw LocksMissing(groups: missing) }
        let questions = questions(about: purchases.indices)
        var pipeline = Pipeline()
        let found = pipeline.add(AccountLinkTable.find, questions.rows)
        let owners = pipeline.add(AppTransactionGroupTable.owners, groups)
        let answers = try await connection.run(pipeline)
        links = questions.links(answers[found])
        siblings = Self.siblings(answers[owners])
        decideDirectly(purchases.indices)
    }

    /// The accounts of the batch, and the present and former accounts of its purchases.
    private var touchedGroups: Set<AppTransactionGroup> {
        var groups = batch.groups
        for index in purchases.indices {
            if let group = purchases[index].group { groups.insert(group) }
            if let group = purchases[index].state.storedGroup { groups.insert(group) }
        }
        return groups
    }

    private func questions(about indices: Range<Int>) -> LinkQuestions {
        // Most purchases have one token.
        var questions = LinkQuestions(of: linkKinds, expected: indices.count * linkKinds.count)
        for index in indices { questions.ask(about: purchases[index].facts, in: purchases[index].state.key.app) }
        for group in batch.groups { questions.ask(.appTransactionID(group.appTransactionID), in: group.app) }
        return questions
    }

    private mutating func decideDirectly(_ indices: Range<Int>) {
        for index in indices {
            purchases[index].direct = rules.directOwnership(
                of: purchases[index].facts, links: links[purchases[index].state.key.app] ?? AccountLinks())
        }
    }
}

extension LinkTransaction {
    /// Adds the users of the batch's purchases to the known users of their accounts.
    ///
    /// - Returns: the accounts that changed.
    private mutating func settleGroups() async throws -> [AppTransactionGroup] {
        let before = siblings
        if purchases.contains(where: \.withdrawsUser) { try await removeWithdrawn() }
        join(purchases.indices)
        return Set(before.keys).union(siblings.keys).filter { siblings[$0] != before[$0] }
    }

    /// Removes the withdrawn users of purchases; only PostgreSQL knows whether other purchases name them.
    private mutating func removeWithdrawn() async throws {
        let rows = purchases.filter(\.withdrawsUser).compactMap { purchase in
            purchase.state.stored.map { stored in
                var owner = stored
                owner.directUserID = nil
                owner.appTransactionID = nil
                return (purchase.state.key, owner)
            }
        }
        let groups = Array(touchedGroups)
        var pipeline = Pipeline()
        pipeline.add(OwnerTable.write.upsert, rows)
        let owners = pipeline.add(AppTransactionGroupTable.owners, groups)
        siblings = Self.siblings(try await connection.run(pipeline)[owners])
    }

    private static func siblings(_ owners: some Sequence<AppTransactionGroupTable.Owners>) -> [AppTransactionGroup:
        SiblingOwner]
    { Dictionary(owners.map { ($0.group, SiblingOwner(owners: [$0.first, $0.last])) }, uniquingKeysWith: { $1 }) }

    private mutating func join(_ indices: Range<Int>) {
        for index in indices {
            guard let group = purchases[index].group, let user = purchases[index].direct?.userID else { continue }
            siblings[group, default: .none].join(user)
        }
    }

    /// Reads the purchases outside of the batch whose owner depends on a changed account.
    private mutating func readDependants(of groups: [AppTransactionGroup]) async throws {
        guard !groups.isEmpty else { return }
        let known = Set(purchases.map(\.state.key))
        let wanted = Set(try await connection.run(AppTransactionGroupTable.dependants, groups)).subtracting(known)
        guard !wanted.isEmpty else { return }
        var pipeline = Pipeline()
        let reading = OwnershipReading(Array(Set(wanted.map(\.scope))), restores: rules.movesRestored, in: &pipeline)
        let read = reading.purchases(try await connection.run(pipeline)).purchases
        let first = purchases.count
        purchases += read.filter { wanted.contains($0.key) }.map { LinkedPurchase($0) }
        let added = first..<purchases.count
        let questions = questions(about: added)
        let found = try await connection.run(AccountLinkTable.find, questions.rows)
        for (app, more) in questions.links(found) { links[app, default: AccountLinks()].merge(more) }
        decideDirectly(added)
        join(added)
    }

    private func owner(of purchase: LinkedPurchase) -> StoredOwner {
        let ownership =
            purchase.direct
            ?? rules.indirectOwnership(
                of: purchase.facts, links: links[purchase.state.key.app] ?? AccountLinks(),
                siblings: purchase.group.flatMap { siblings[$0] } ?? .none)
        return StoredOwner(
            ownership, directUserID: purchase.direct?.userID, appTransactionID: purchase.facts.appTransactionID)
    }

    /// The owners by rule 3 of accounts without a purchase in the batch.
    private func accounts() -> [AppTransactionGroup: ObservedOwner] {
        var accounts: [AppTransactionGroup: ObservedOwner] = [:]
        for group in batch.accounts {
            let ownership = rules.ownership(
                of: OwnershipFacts(originalTransactionID: "", appTransactionID: group.appTransactionID),
                links: links[group.app] ?? AccountLinks(), siblings: siblings[group] ?? .none)
            accounts[group] = ObservedOwner(userID: ownership.userID, rule: ownership.rule.rawValue)
        }
        return accounts
    }

    /// Writes the batch's facts and changed owners, and marks the purchases of these owners for a projection.
    ///
    /// The first owner of a purchase needs no mark if a record is forwarded: its facts reach
    /// `entitle-worker` only after this commit, so every projection reads this owner or a later
    /// one.
    ///
    /// - Parameter oursCount: number of purchases, from the first, that have a record in the batch.
    private func write(_ oursCount: Int) async throws {
        var new: [OwnerTable.Row] = []
        var others: [OwnerTable.Row] = []
        var changes: [OwnerChangeTable.Change] = []
        for index in purchases.indices {
            let (key, stored) = (purchases[index].state.key, purchases[index].state.stored)
            guard let owner = purchases[index].owner, owner != stored else { continue }
            let row = (key, owner)
            if stored == nil { new.append(row) } else { others.append(row) }
            let hasRecord = index < oursCount
            if stored == nil && hasRecord { continue }
            if !owner.isSameOwnership(as: stored) { changes.append((key, hasRecord)) }
        }
        var pipeline = Pipeline()
        pipeline.add(OwnershipFactTables.raiseFacts, new: newFacts.first, newRows, others: newFacts.others)
        pipeline.add(OwnershipFactTables.raiseRenewals, unlessEmpty: newFacts.renewals)
        pipeline.add(OwnerTable.write, new: new, newRows, others: others)
        guard !pipeline.isEmpty else { return }
        if isPlan { changes = [] }
        pipeline.add(OwnerChangeTable.record, unlessEmpty: changes)
        if !changes.allSatisfy(\.hasRecord) {
            // The commit notifies every listener of the new marks.
            pipeline.add(OwnerTable.notify)
        }
        _ = try await connection.run(pipeline)
    }
}

extension SiblingOwner {
    /// Adds the owner of another purchase.
    fileprivate mutating func join(_ userID: Identifier) {
        switch self {
        case .none: self = .one(userID)
        case .one(userID), .several: break
        case .one: self = .several
        }
    }
}
