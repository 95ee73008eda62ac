import Store
import Entitlements
import Postgres
import Worker

/// Projects anew what another catalog makes different, beside the records and in small steps.
///
/// One copy of the worker works at a time, under a lock of its connection's session; the table says
/// how far it has come, so that another goes on there. What is projected twice is the same twice. A
/// purchase that PostgreSQL refuses is named and stays as it was.
actor Reprojection: Upkeep {
    private let client: PostgresClient
    private let catalogs: CatalogStore
    private let metrics: EntitleMetrics
    private let refusals: Refusals
    private let size: TransactionSize
    private var connection: PostgresConnection?
    /// Whether to look at once: at the start, and while another copy is at it.
    private var isDue = true

    /// The channel on which the database tells of a new catalog.
    private static let channel = "catalog"
    /// How long to wait for word before the table is looked at all the same.
    private static let sweepInterval = Duration.milliseconds(1000)
    /// How many purchases are projected in one transaction.
    private static let purchasesMax = 200

    init(
        client: PostgresClient,
        catalogs: CatalogStore,
        metrics: EntitleMetrics,
        refusals: Refusals
    ) {
        self.client = client
        self.catalogs = catalogs
        self.metrics = metrics
        self.refusals = refusals
        size = TransactionSize(statementDeadline: client.statementDeadline)
    }

    func waitForOccasion() async throws {
        let connection = try await listening()
        guard !isDue else {
            isDue = false
            return
        }
        try await using(connection) {
            _ = try await connection.notifications(deadline: Self.sweepInterval)
        }
    }

    func work() async throws {
        let connection = try await listening()
        try await using(connection) {
            guard try await progress(connection)?.isLeftToDo == true else { return }
            guard try await isAlone(connection) else { return }
            while let progress = try await progress(connection), progress.isLeftToDo {
                try await reproject(progress, connection)
            }
            _ = try await connection.pipeline([Self.unlock])
        }
    }

    func close() async {
        await connection?.close()
        connection = nil
    }
}

extension Reprojection {
    /// Works through one catalog, from where the table says on.
    private func reproject(
        _ progress: ReprojectionProgress,
        _ connection: PostgresConnection
    ) async throws {
        let target = progress.target ?? progress.newest
        var statements = [Locking.afterSharedCatalog]
        if progress.target == nil {
            statements.append(ReprojectionProgress.begin(target))
        }
        _ = try await connection.pipeline(statements)
        let changed = try await CatalogStore.productIDs(
            changedAfter: progress.version,
            through: target,
            connection
        )
        var after = progress.after
        while !changed.isEmpty {
            let rows = try await connection.pipeline([
                ReprojectionWindow.transactions(after: after)
            ])[0]
            let window = ReprojectionWindow(rows, changed)
            try await project(window.scopes)
            guard let last = window.last else { break }
            _ = try await connection.pipeline([ReprojectionProgress.reached(last)])
            after = last
        }
        _ = try await connection.pipeline([ReprojectionProgress.finish])
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
            try await EntitleTransaction(
                connection: connection,
                reprojected: part,
                catalogs: catalogs
            ).run()
        }
        metrics.reprojected(part.count, batch)
    }

    private func progress(_ connection: PostgresConnection) async throws -> ReprojectionProgress? {
        try await connection.pipeline([ReprojectionProgress.read])[0].first.map {
            ReprojectionProgress($0)
        }
    }

    private func isAlone(_ connection: PostgresConnection) async throws -> Bool {
        try await connection.pipeline([Self.tryLock])[0][0].bool(0)
    }

    private static let tryLock = PostgresStatement(
        "SELECT pg_try_advisory_lock(hashtextextended('catalog projection', 0))"
    )
    private static let unlock = PostgresStatement(
        "SELECT pg_advisory_unlock(hashtextextended('catalog projection', 0))"
    )

    /// The connection that listens; opened anew, and the table looked at, where it was lost.
    private func listening() async throws -> PostgresConnection {
        if let connection { return connection }
        let new = try await client.connect()
        try await new.listen(to: Self.channel)
        connection = new
        isDue = true
        return new
    }

    /// After a fault the connection is given up, and with it the lock.
    private func using(
        _ connection: PostgresConnection,
        _ body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch {
            await close()
            throw error
        }
    }
}
