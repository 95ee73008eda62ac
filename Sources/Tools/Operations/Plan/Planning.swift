import AppStore
import Derivation
import Entitlements
import Postgres
import Settings
import Store

/// The effects of another catalog, other rules of linking or more links, from one snapshot and without locks.
///
/// Transactions that the workers commit later are not part of it.
struct Planning {
    /// The catalog.
    ///
    /// `nil` for the one in force.
    var catalog: Catalog?
    /// The rule of linking that replaces the one in force.
    var policy: OwnershipPolicy?
    /// Links that are added or moved.
    var links: LinkSource?
    var instants = [PlanInstant.now]
    /// Maximum samples of each effect.
    var samplesMax = 0
    /// The only user in the samples.
    ///
    /// `nil` for all users.
    var userID: Identifier?
    /// Whether all transactions are read even if no product differs, to list the products without purchases.
    var listsProducts = false
    /// Maximum purchases in memory at once.
    var purchasesMax = 500

    /// Maximum time of a statement that counts the users of all changed rows.
    private static let countDeadline = Duration.seconds(600)

    /// - Parameter progress: receives a step and the number of purchases or transactions done in it.
    func run(on connection: PostgresConnection, _ progress: (Step, Int) -> Void) async throws -> PlanReport {
        let hasOwners = policy != nil || links != nil
        try await PlanTables.create(hasOwners: hasOwners, on: connection)
        return try await connection.snapshot { connection in
            let force = try await CatalogInForce(on: connection)
            var report = PlanReport(catalog: catalog ?? force.catalog, force: force, hasOwners: hasOwners)
            try await PlanTables.copy(hasOwners: hasOwners, on: connection, deadline: Self.countDeadline)
            if hasOwners { try await link(on: connection, progress) }
            try await stack(report, on: connection, progress)
            try await project(into: &report, on: connection, progress)
            try await count(into: &report, on: connection)
            try await explain(into: &report, on: connection)
            return report
        }
    }

    enum Step: String {
        case linking
        case stacking
        case projecting
    }

    /// Finds the owner of each purchase by the planned rules and links.
    private func link(on connection: PostgresConnection, _ progress: (Step, Int) -> Void) async throws {
        guard var rules = try await connection.run(LinkingRulesTable.read).first.flatMap({ $0 }) else {
            throw CommandError(
                ExitCode.configuration, "no rules of linking are stored yet: link-worker stores them when it starts")
        }
        rules.policy = policy ?? rules.policy
        var links = links
        while let batch = try links?.next() { _ = try await connection.run(AccountLinkTable.put, batch) }
        var last = PurchaseScope.start
        var count = 0
        while true {
            let scopes = Array(try await connection.run(AllPurchases.next, (after: last, countMax: purchasesMax)))
            guard let end = scopes.last else { return }
            last = end
            try await OwnerReview.plan(scopes, by: rules, on: connection)
            count += scopes.count
            progress(.linking, count)
        }
    }

    /// Writes the entries of stacks that follow from the planned owners and types of products, on which the periods
    /// of other purchases depend.
    private func stack(_ report: PlanReport, on connection: PostgresConnection, _ progress: (Step, Int) -> Void)
        async throws
    {
        let restacked = report.restacked
        var concerned = ConcernedPurchases(by: restacked)
        var count = 0
        while restacked?.isEmpty != true, let page = try await concerned.next(on: connection) {
            try await changes(of: page.scopes, by: report.catalog, on: connection) { changes, _, pipeline in
                pipeline.addStacks(changes)
            }
            count += page.sold.count
            progress(.stacking, count)
        }
    }

    private func project(
        into report: inout PlanReport, on connection: PostgresConnection, _ progress: (Step, Int) -> Void
    ) async throws {
        let changed = report.changed
        var concerned = ConcernedPurchases(by: changed)
        while listsProducts || changed?.isEmpty != true, let page = try await concerned.next(on: connection) {
            report.add(page.sold)
            let start = ContinuousClock.now
            try await changes(of: page.scopes, by: report.catalog, on: connection) { changes, scopes, pipeline in
                pipeline.add(PlanTables.addRows, unlessEmpty: changes.changed)
                pipeline.add(PlanTables.addCredits, unlessEmpty: changes.balances)
                report.add(changes, of: scopes, page.sold)
            }
            report.projecting += ContinuousClock.now - start
            progress(.projecting, report.transactionCount)
        }
    }

    /// Projects purchases part by part, and runs the statements that `add` adds for each part.
    private func changes(
        of scopes: [PurchaseScope], by catalog: Catalog, on connection: PostgresConnection,
        _ add: (RowChanges, [PurchaseScope], inout Pipeline) -> Void
    ) async throws {
        var rest = scopes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(purchasesMax))
            rest = rest.dropFirst(part.count)
            var pipeline = Pipeline()
            let projector = try await BatchProjector(of: part, by: catalog, inSnapshot: connection)
            add(projector.changes(), part, &pipeline)
            if !pipeline.isEmpty { _ = try await connection.run(pipeline) }
        }
    }

    private func count(into report: inout PlanReport, on connection: PostgresConnection) async throws {
        let now = try await connection.run(DedupeForgetting.now)[0]
        report.instants = instants.map { $0.instant(from: now) }
        guard report.rowCount > 0 else { return }
        _ = try await connection.run(PlanTables.join, deadline: Self.countDeadline)
        let counts = try await connection.run(PlanTables.counts, report.instants, deadline: Self.countDeadline)
        report.counts = Array(counts)
        report.losingCount = try await connection.run(PlanTables.losingCount, now, deadline: Self.countDeadline)[0]
        report.balances = Array(try await connection.run(PlanTables.balances, deadline: Self.countDeadline))
    }

    private func explain(into report: inout PlanReport, on connection: PostgresConnection) async throws {
        guard samplesMax > 0, report.rowCount > 0 else { return }
        let sampling: PlanTables.Sampling = (report.instants, userID, samplesMax)
        let samples = Array(try await connection.run(PlanTables.samples, sampling, deadline: Self.countDeadline))
        for sample in samples {
            let user = (sample.environment, sample.key, sample.userID)
            let purchases = Array(try await connection.run(PlanTables.purchases, user, deadline: Self.countDeadline))
            let scopes = Array(Set(purchases.map(\.scope)))
            func rules(by catalog: Catalog) async throws -> [PurchaseKey: [Contribution]] {
                try await BatchProjector(of: scopes, by: catalog, inSnapshot: connection).contributions()
            }
            let (held, planned) = (try await rules(by: report.force.catalog), try await rules(by: report.catalog))
            report.samples.append(
                PlannedSample(
                    sample: sample,
                    purchases: purchases.map { purchase in
                        PlannedSample.Purchase(
                            key: purchase, held: held[purchase] ?? [], planned: planned[purchase] ?? [])
                    }))
        }
    }
}

/// The catalog with which the stored rows are projected, or will be soon.
struct CatalogInForce {
    /// The version; 0 without a catalog.
    let version: Int64
    /// The catalog; empty if it cannot be read.
    var catalog = Catalog()
    /// The products of versions that are not projected completely.
    ///
    /// `nil` for all products, if the catalog cannot be read.
    var unprojected: Set<Identifier>? = []

    init(on connection: PostgresConnection) async throws {
        let progress = try await connection.run(CatalogProjection.read)[0]
        version = progress.newest
        guard version > 0 else { return }
        do {
            catalog = try await CatalogStore.read(version, connection)
            guard progress.isLeftToDo else { return }
            unprojected = try await CatalogStore.productIDs(
                changedAfter: progress.version, through: version, connection)
        } catch is CatalogStore.Unreadable { unprojected = nil }
    }
}

/// An instant at which a plan counts users.
enum PlanInstant: CustomStringConvertible {
    case now
    case after(Duration)
    case at(Timestamp)

    func instant(from now: StoredTime) -> StoredTime {
        switch self {
        case .now: now
        case .after(let duration): StoredTime(milliseconds: now.milliseconds + Int64(duration / .milliseconds(1)))
        case .at(let instant): StoredTime(instant)
        }
    }

    var description: String {
        switch self {
        case .now: "now"
        case .after(let duration): "+\(duration)"
        case .at(let instant): instant.description
        }
    }
}
