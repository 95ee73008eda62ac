import AppStore
import Derivation
import Entitlements
import Postgres
import Store
import Worker

/// Projects purchases again after a catalog change, in the background and in small steps.
///
/// A single copy of the worker does this at a time, under a session lock of its connection. The
/// table stores the progress, so another copy continues from there. Projecting twice gives the same
/// rows. A purchase that PostgreSQL rejects is logged and stays unchanged.
actor Reprojection: Upkeep {
    private let client: PostgresClient
    private let catalogs: CatalogStore
    private let metrics: EntitleMetrics
    private let refusals: Refusals
    private let size: TransactionSize
    private let standing: StandingConnection
    /// Whether to read the table at once: at the start, and while another copy holds the lock.
    private var isDue = true

    /// Longest wait for a notification; then the table is read without one.
    private static let sweepInterval = Duration.milliseconds(1000)
    /// Maximum purchases in one transaction.
    private static let purchasesMax = 200

    init(client: PostgresClient, catalogs: CatalogStore, metrics: EntitleMetrics, refusals: Refusals) {
        self.client = client
        standing = StandingConnection(client)
        self.catalogs = catalogs
        self.metrics = metrics
        self.refusals = refusals
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    func waitForWork() async throws {
        try await using { connection in
            guard !isDue else {
                isDue = false
                return
            }
            _ = try await connection.notifications(deadline: Self.sweepInterval)
        }
    }

    func work() async throws {
        try await using { connection in
            guard try await progress(connection)?.isLeftToDo == true else { return }
            guard try await isAlone(connection) else { return }
            while let progress = try await progress(connection), progress.isLeftToDo {
                try await reproject(progress, connection)
            }
            _ = try await connection.run(SessionLock.catalogProjection.release)
        }
    }

    func close() async { await standing.close() }
}

extension Reprojection {
    /// Applies one catalog change, starting from the progress in the table.
    private func reproject(_ progress: CatalogProjection, _ connection: PostgresConnection) async throws {
        let target = try await target(progress, connection)
        var pipeline = Pipeline()
        pipeline.add(Locks.afterSharedCatalog)
        if progress.target != target { pipeline.add(CatalogProjection.begin, target) }
        _ = try await connection.run(pipeline)
        let changed = try await CatalogStore.productIDs(changedAfter: progress.version, through: target, connection)
        var concerned = ConcernedPurchases(by: changed, after: progress.target == target ? progress.after : .start)
        while changed?.isEmpty != true, let page = try await concerned.next(on: connection) {
            try await project(page.scopes)
            _ = try await connection.run(CatalogProjection.reached, concerned.last)
        }
        _ = try await connection.run(CatalogProjection.finish)
    }

    /// The version being applied, or the newest if that version cannot be read.
    private func target(_ progress: CatalogProjection, _ connection: PostgresConnection) async throws -> Int64 {
        guard let target = progress.target, target < progress.newest else { return progress.newest }
        do {
            _ = try await CatalogStore.read(target, connection)
            return target
        } catch is CatalogStore.Unreadable { return progress.newest }
    }

    private func project(_ scopes: [PurchaseScope]) async throws {
        var rest = scopes[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let part = Array(rest.prefix(Self.purchasesMax))
            rest = rest.dropFirst(part.count)
            _ = try await RecordFaults.isolating(part[...], size: size) { part in
                try await project(part: Array(part))
                return part.map { _ in }
            } refused: { purchase, error in
                refusals.passedOver(purchase, error)
            }
        }
    }

    private func project(part: [PurchaseScope]) async throws {
        let batch = try await client.transaction { [catalogs] connection in
            try await EntitleTransaction(connection: connection, reprojected: part, catalogs: catalogs).run()
        }
        metrics.reprojected(part.count, batch)
    }

    private func progress(_ connection: PostgresConnection) async throws -> CatalogProjection? {
        try await connection.run(CatalogProjection.read).first
    }

    private func isAlone(_ connection: PostgresConnection) async throws -> Bool {
        try await connection.run(SessionLock.catalogProjection.acquire)[0]
    }

    /// Runs `body` on the listening connection; after a lost connection the table is read again.
    private func using(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await standing.use { new in
            try await new.listen(to: CatalogTable.channel)
            isDue = true
        } _: {
            try await body($0)
        }
    }
}
