import AppStore
import Entitlements
import Postgres
import Store
import Records

/// One transaction that adds the facts of a batch and finds the owners of its purchases.
///
/// The locks come first: of the Apple Accounts concerned, then of the purchases. Every change of a
/// purchase's owner holds the lock of its account, so that the purchases of one account, which may
/// name each other's owner, are never processed by two workers at once.
struct LinkTransaction {
    private let connection: PostgresConnection
    private let batch: LinkBatch
    private let rules: OwnershipRules
    /// Whether records of the batch's own purchases go on, with which they are projected.
    private let hasRecords: Bool

    private var locked: Set<AppTransactionGroup>
    private var purchases: [PurchaseKey: PurchaseOwnership] = [:]
    private var facts: [PurchaseKey: OwnershipFacts] = [:]
    private var direct: [PurchaseKey: Ownership] = [:]
    private var links: [AppScope: AccountLinks] = [:]
    private var siblings: [AppTransactionGroup: SiblingOwner] = [:]
    private var contradictionCount: Int

    init(
        connection: PostgresConnection,
        batch: LinkBatch,
        rules: OwnershipRules,
        hasRecords: Bool,
        locking groups: Set<AppTransactionGroup>
    ) {
        self.connection = connection
        self.batch = batch
        self.rules = rules
        self.hasRecords = hasRecords
        contradictionCount = batch.contradictionCount
        locked = batch.groups.union(groups)
    }

    mutating func run() async throws -> LinkOutcome {
        try await lockAndRead()
        try await readLinksAndGroups()
        let ours = hasRecords ? Set(purchases.keys) : []
        let changed = try await settleGroups()
        try await readDependants(of: changed)
        let owners = purchases.mapValues { owner(of: $0.key) }
        try await write(owners, ours: ours)
        return LinkOutcome(
            purchases: purchases,
            renewed: Set(batch.renewals.keys.map(\.scope)),
            owners: owners,
            accounts: accounts(),
            contradictionCount: contradictionCount
        )
    }

    private mutating func lockAndRead() async throws {
        let scopes = Array(batch.scopes)
        var pipeline = Pipeline()
        pipeline.add(Locks.sharedLinks)
        pipeline.add(Locks.accounts, Array(locked))
        pipeline.add(Locks.ownership, scopes)
        pipeline.add(
            OwnershipFactTables.raiseFacts,
            unlessEmpty: batch.transactions
        )
        pipeline.add(
            OwnershipFactTables.raiseRenewals,
            unlessEmpty: Array(batch.renewals.values)
        )
        let contradictions = pipeline.add(
            OwnershipFactTables.raiseClaims,
            unlessEmpty: Array(batch.claims.values)
        )
        let reading = OwnershipReading(scopes, in: &pipeline)
        let answers = try await connection.run(pipeline)
        if let contradictions {
            contradictionCount += answers[contradictions][0]
        }
        purchases = reading.purchases(answers)
        facts = purchases.mapValues(\.facts)
        direct.reserveCapacity(purchases.count)
    }

    /// Reads the links and what the accounts' other purchases say, now that the accounts are known.
    private mutating func readLinksAndGroups() async throws {
        let groups = Array(touchedGroups)
        let missing = Set(groups).subtracting(locked)
        if !missing.isEmpty {
            throw LocksMissing(groups: missing)
        }
        let questions = questions(about: purchases.keys)
        var pipeline = Pipeline()
        let found = pipeline.add(AccountLinkTable.find, questions.rows)
        let owners = pipeline.add(AppTransactionGroupTable.owners, groups)
        let answers = try await connection.run(pipeline)
        links = questions.links(answers[found])
        siblings = Self.siblings(answers[owners])
        decideDirectly(purchases.keys)
    }

    /// The accounts of the batch, of its purchases as they are now, and as they were.
    private var touchedGroups: Set<AppTransactionGroup> {
        var groups = batch.groups
        for (key, state) in purchases {
            if let group = group(of: key) { groups.insert(group) }
            if let group = state.storedGroup { groups.insert(group) }
        }
        return groups
    }

    private func group(of key: PurchaseKey) -> AppTransactionGroup? {
        facts[key]?.appTransactionID.map { key.group($0) }
    }

    private func questions(about keys: some Collection<PurchaseKey>) -> LinkQuestions {
        // Of most purchases the ID, the account and one token.
        var questions = LinkQuestions(expected: keys.count * 3)
        for key in keys {
            if let facts = facts[key] {
                questions.ask(
                    about: facts,
                    in: key.app,
                    tokensAreUserIDs: rules.tokensAreUserIDs
                )
            }
        }
        for group in batch.groups {
            questions.ask(.appTransactionID(group.appTransactionID), in: group.app)
        }
        return questions
    }

    private mutating func decideDirectly(_ keys: some Sequence<PurchaseKey>) {
        for key in keys {
            guard let facts = facts[key] else { continue }
            direct[key] = rules.directOwnership(of: facts, links: links[key.app] ?? AccountLinks())
        }
    }
}

extension LinkTransaction {
    /// Adds the users of the batch's purchases to what was known of their accounts.
    ///
    /// - Returns: the accounts of which something else is known now.
    private mutating func settleGroups() async throws -> [AppTransactionGroup] {
        let before = siblings
        if purchases.values.contains(where: withdrawsUser) {
            try await removeWithdrawn()
        }
        join(purchases.keys)
        return Set(before.keys).union(siblings.keys).filter { siblings[$0] != before[$0] }
    }

    /// Whether a purchase no longer names the user to its account whom it named before.
    private func withdrawsUser(_ state: PurchaseOwnership) -> Bool {
        guard let group = state.storedGroup, let user = state.stored?.directUserID else {
            return false
        }
        return self.group(of: state.key) != group || direct[state.key]?.userID != user
    }

    /// Removes these purchases' users: only PostgreSQL knows whom the others name without them.
    private mutating func removeWithdrawn() async throws {
        let rows = purchases.values.filter(withdrawsUser).compactMap { state in
            state.stored.map { stored in
                var owner = stored
                owner.directUserID = nil
                owner.appTransactionID = nil
                return OwnerTable.Row(key: state.key, owner: owner)
            }
        }
        let groups = Array(touchedGroups)
        var pipeline = Pipeline()
        pipeline.add(OwnerTable.write, rows)
        let owners = pipeline.add(AppTransactionGroupTable.owners, groups)
        siblings = Self.siblings(try await connection.run(pipeline)[owners])
    }

    private static func siblings(
        _ owners: some Sequence<AppTransactionGroupTable.Owners>
    ) -> [AppTransactionGroup: SiblingOwner] {
        Dictionary(
            owners.map { ($0.group, SiblingOwner(owners: [$0.first, $0.last])) },
            uniquingKeysWith: { $1 }
        )
    }

    private mutating func join(_ keys: some Sequence<PurchaseKey>) {
        for key in keys {
            guard let group = group(of: key), let user = direct[key]?.userID else { continue }
            siblings[group, default: .none].join(user)
        }
    }

    /// Reads the purchases outside of the batch whose owner depends on what has changed.
    private mutating func readDependants(of groups: [AppTransactionGroup]) async throws {
        guard !groups.isEmpty else { return }
        let keys = try await connection.run(AppTransactionGroupTable.dependants, groups)
            .filter { purchases[$0] == nil }
        guard !keys.isEmpty else { return }
        var pipeline = Pipeline()
        let reading = OwnershipReading(Array(Set(keys.map(\.scope))), in: &pipeline)
        let read = reading.purchases(try await connection.run(pipeline))
        let wanted = Set(keys)
        for (key, state) in read where wanted.contains(key) {
            purchases[key] = state
            facts[key] = state.facts
        }
        let questions = questions(about: keys)
        let found = try await connection.run(AccountLinkTable.find, questions.rows)
        for (app, more) in questions.links(found) {
            links[app, default: AccountLinks()].merge(more)
        }
        decideDirectly(keys)
        join(keys)
    }

    private func owner(of key: PurchaseKey) -> StoredOwner {
        let facts = facts[key] ?? OwnershipFacts(originalTransactionID: key.originalTransactionID)
        let direct = direct[key]
        let ownership =
            direct
            ?? rules.indirectOwnership(
                of: facts,
                links: links[key.app] ?? AccountLinks(),
                siblings: group(of: key).flatMap { siblings[$0] } ?? .none
            )
        return StoredOwner(
            ownership,
            directUserID: direct?.userID,
            appTransactionID: facts.appTransactionID
        )
    }

    /// Rule 3 for those who have an account and no purchase at hand.
    private func accounts() -> [AppTransactionGroup: ObservedOwner] {
        var accounts: [AppTransactionGroup: ObservedOwner] = [:]
        for group in batch.accounts {
            let ownership = rules.ownership(
                of: OwnershipFacts(
                    originalTransactionID: "",
                    appTransactionID: group.appTransactionID
                ),
                links: links[group.app] ?? AccountLinks(),
                siblings: siblings[group] ?? .none
            )
            accounts[group] = ObservedOwner(
                userID: ownership.userID,
                rule: ownership.rule.rawValue
            )
        }
        return accounts
    }

    /// Writes the owners that are others than before, and that their purchases are to be projected.
    ///
    /// - Parameter ours: the purchases of which a record is in hand.
    private func write(
        _ owners: [PurchaseKey: StoredOwner],
        ours: Set<PurchaseKey>
    ) async throws {
        let rows = owners.compactMap { key, owner -> OwnerTable.Row? in
            let stored = purchases[key]?.stored
            return stored == owner ? nil : OwnerTable.Row(key: key, owner: owner)
        }
        guard !rows.isEmpty else { return }
        let changes = rows.compactMap { row -> OwnerChangeTable.Change? in
            guard !row.owner.isSameOwnership(as: purchases[row.key]?.stored) else { return nil }
            return OwnerChangeTable.Change(
                purchase: row.key,
                hasRecord: ours.contains(row.key)
            )
        }
        var pipeline = Pipeline()
        pipeline.add(OwnerTable.write, rows)
        pipeline.add(OwnerChangeTable.record, unlessEmpty: changes)
        if !changes.allSatisfy(\.hasRecord) {
            // With the commit every listener is notified that there is something to send.
            pipeline.add(OwnerTable.notify)
        }
        _ = try await connection.run(pipeline)
    }
}

extension SiblingOwner {
    /// Adds one more purchase's owner.
    fileprivate mutating func join(_ userID: String) {
        switch self {
        case .none: self = .one(userID)
        case .one(userID), .several: break
        case .one: self = .several
        }
    }
}
