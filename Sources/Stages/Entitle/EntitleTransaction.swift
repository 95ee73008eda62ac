import AppStore
import Entitlements
import Postgres

/// One transaction: locks, reads, takes up what a batch says, projects, writes what is different.
///
/// A fixed number of round trips, whatever the size of the batch: one to lock and read, one to
/// write and one to commit; where non-renewing purchases are concerned, two more to read what they
/// stack upon.
struct EntitleTransaction {
    private let connection: PostgresConnection
    private let records: [EntitleRecord]
    private let refused: [Int: ImmutableField]
    private let catalogs: CatalogStore
    /// Purchases that are projected whatever the records say.
    private let reprojected: [PurchaseScope]
    /// The places of the records that somebody waits for.
    private let awaited: [Int]

    init(
        connection: PostgresConnection,
        records: [EntitleRecord] = [],
        refused: [Int: ImmutableField] = [:],
        reprojected: [PurchaseScope] = [],
        catalogs: CatalogStore,
        awaited: [Int] = []
    ) {
        self.connection = connection
        self.records = records
        self.refused = refused
        self.reprojected = reprojected
        self.catalogs = catalogs
        self.awaited = awaited
    }

    func run() async throws -> SettledBatch {
        let scopes = scopes()
        let reading = FactReading(scopes)
        let answers = try await connection.pipeline(
            [Locking.sharedCatalog, Locking.purchases(scopes), CatalogStore.newestVersion]
                + reading.statements
        )
        let catalog = try await catalogs.catalog(
            version: answers[2][0].optionalInt8(0),
            connection
        )
        var fold = BatchFold(scopes: scopes)
        reading.learn(answers[3...], into: &fold)
        try await breakSeals(&fold)
        for (index, record) in records.enumerated() {
            fold.take(record, refused: refused[index])
        }
        fold.touch(reprojected, ChangeCause(.catalog, id: catalog.version.map { String($0) }))
        fold.touchThoseOfOtherOwners()
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking {
            try await projector.readStacks(connection)
        }
        let changes = projector.changes()
        try await write(fold, changes, projector, catalog.version)
        fold.settleRelinked(changed: changes.purchases)
        return SettledBatch(
            outcomes: fold.outcomes,
            answers: try await readAnswers(fold),
            notifications: fold.meanings,
            unknownProducts: projector.unknownProducts,
            unknownTypes: projector.unknownTypes,
            changes: changes.changed.count
        )
    }

    /// Reads all facts of the purchases whose seal the batch may break, and forgets the seal.
    private func breakSeals(_ fold: inout BatchFold) async throws {
        let broken = fold.scopes(brokenBy: records)
        guard !broken.isEmpty else { return }
        let reading = FactReading(broken)
        let answers = try await connection.pipeline(
            [SealWriting.forget(broken)] + reading.statements
        )
        var whole = BatchFold(scopes: broken)
        reading.learn(answers[1...], into: &whole)
        fold.replace(whole.states)
    }

    /// What those are told who wait; one round trip, where somebody does.
    private func readAnswers(_ fold: BatchFold) async throws -> [Int: Answer] {
        guard !awaited.isEmpty else { return [:] }
        let reading = AnswerReading(
            awaited.map { index in
                AnswerReading.Question(
                    index: index,
                    record: records[index],
                    userID: fold.userID(of: records[index])
                )
            }
        )
        return reading.answers(try await connection.pipeline(reading.statements))
    }

    private func scopes() -> [PurchaseScope] {
        var scopes = Set(reprojected)
        for record in records {
            scopes.formUnion(record.scopes)
        }
        return Array(scopes)
    }

    private func write(
        _ fold: BatchFold,
        _ changes: RowChanges,
        _ projector: BatchProjector,
        _ catalogVersion: Int64?
    ) async throws {
        let facts = fold.changedTransactions
        let lock = projector.isStacking ? nil : Locking.users(changes.users)
        let raising = FactWriting.transactions(facts)
        let others =
            [
                lock, FactWriting.renewals(fold.changedRenewals),
                FactWriting.graces(fold.newGraces), fold.revisions.statement,
                fold.downloads.statement, fold.notifications.statement,
                SealWriting.write(projector.seals),
                OwnerChangeWriting.projected(projector.ownerChanges),
            ].compactMap { $0 } + RowWriting.statements(changes, catalogVersion: catalogVersion)
        let statements = (raising.map { [$0] } ?? []) + others
        guard !statements.isEmpty else { return }
        let answers = try await connection.pipeline(statements)
        if raising != nil, answers[0].affectedCount < facts.count {
            throw try await contradiction(among: facts)
        }
    }

    private func contradiction(among facts: [TransactionFact]) async throws -> ContradictedFacts {
        let rows = try await connection.pipeline([FactWriting.contradicting(facts)])
        var fields: [Int: ImmutableField] = [:]
        for row in rows.joined() {
            let refused = facts[Int(row.int8(0))]
            for (index, record) in records.enumerated() {
                if let fact = record.transaction, fact.key == refused.key,
                    fact.purchaseKey == refused.purchaseKey
                {
                    fields[index] = ImmutableField(rawValue: row.text(1))
                }
            }
        }
        precondition(!fields.isEmpty, "a fact was not raised, and nothing stands in its way")
        return ContradictedFacts(records: fields)
    }
}
