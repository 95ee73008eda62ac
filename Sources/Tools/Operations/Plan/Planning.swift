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
    /// The user who is forgotten, before links are added.
    var forgotten: Identifier?
    /// Links that are added or moved.
    var links: LinkSource?
    var instants = [PlanInstant.now]
    /// The instant from which users are counted.
    ///
    /// `nil` for the snapshot's.
    var now: StoredTime?
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
    static let countDeadline = Duration.seconds(600)

    /// - Parameter progress: receives a step and the number of units done in it.
    func run(on connection: PostgresConnection, _ progress: (Step, Int) -> Void) async throws -> PlanReport {
        try await PlanTables.create(owners, on: connection)
        var report = try await connection.snapshot { connection in
            let force = try await CatalogInForce(on: connection)
            let now = if let now { now } else { try await connection.run(DedupeForgetting.now)[0] }
            var report = PlanReport(catalog: catalog ?? force.catalog, force: force, now: now)
            report.hasOwners = owners != .kept
            report.instants = instants.map { $0.instant(from: now) }
            try await PlanTables.copy(owners, on: connection, deadline: Self.countDeadline)
            if owners != .kept { try await link(into: &report, on: connection, progress) }
            try await stack(report, on: connection, progress)
            try await project(into: &report, on: connection, progress)
            try await count(into: &report, on: connection)
            try await explain(into: &report, on: connection)
            return report
        }
        if let userID, samplesMax > 0 {
            report.sampled = try await SampledUser(of: userID, in: report.samples, on: connection)
        }
        return report
    }

    private var owners: PlanTables.Owners {
        if forgotten != nil { return .forgotten }
        return policy != nil || links != nil ? .linked : .kept
    }

    enum Step: String {
        case linking
        case stacking
        case restacking = "stacking by owner"
        case projecting

        /// The counted things, in the singular.
        var unit: String {
            switch self {
            case .linking, .restacking: "purchase"
            case .stacking, .projecting: "transaction"
            }
        }
    }

    /// Finds the owners by the planned rules and links: of all purchases by another policy, else as `link-worker` does
    /// after changed links.
    private func link(into report: inout PlanReport, on connection: PostgresConnection, _ progress: (Step, Int) -> Void)
        async throws
    {
        guard var rules = try await connection.run(LinkingRulesTable.read).first.flatMap({ $0 }) else {
            throw CommandError(
                ExitCode.configuration, "no rules of linking are stored yet: link-worker stores them when it starts")
        }
        rules.policy = policy ?? rules.policy
        if let forgotten { report.forgotten = try await PlannedForgetting(of: forgotten, on: connection) }
        var links = links
        var hasLinks = links == nil
        while let batch = try links?.next() {
            if let forgotten, batch.contains(where: { $0.userID == forgotten }) {
                throw CommandError(ExitCode.data, "the link file names \(forgotten), who is to be forgotten")
            }
            _ = try await connection.run(AccountLinkTable.put, batch)
            report.links.add(batch)
            hasLinks = true
        }
        guard hasLinks else { throw CommandError(ExitCode.data, "the link file has no link") }
        var count = 0
        func review(_ scopes: [PurchaseScope]) async throws {
            try await inParts(scopes) { try await OwnerReview.plan($0, by: rules, on: connection) }
            count += scopes.count
            progress(.linking, count)
        }
        if policy != nil {
            try await forEachPage(of: AllPurchases.next, on: connection, review)
        } else {
            while case let changes = Array(try await connection.run(LinkChangeTable.oldest)), !changes.isEmpty {
                try await review(Array(try await connection.run(LinkChangeTable.purchases, changes)))
                _ = try await connection.run(LinkChangeTable.remove, changes.map(\.id))
            }
        }
        _ = try await connection.run(PlanTables.concernOwned, deadline: Self.countDeadline)
    }

    /// Writes the entries of stacks that follow from the planned owners and types of products, on which the periods
    /// of other purchases depend.
    private func stack(_ report: PlanReport, on connection: PostgresConnection, _ progress: (Step, Int) -> Void)
        async throws
    {
        let restacked = report.restacked
        var concerned = ConcernedPurchases(by: restacked)
        var count = 0
        func stack(_ scopes: [PurchaseScope]) async throws {
            try await project(scopes, by: report.catalog, on: connection) { $1.addStacks($0.changes()) }
        }
        while restacked?.isEmpty != true, let page = try await concerned.next(on: connection) {
            try await stack(page.scopes)
            count += page.sold.count
            progress(.stacking, count)
        }
        guard owners != .kept else { return }
        count = 0
        try await forEachPage(of: PlanTables.concerned, on: connection) { scopes in
            try await stack(scopes)
            count += scopes.count
            progress(.restacking, count)
        }
        _ = try await connection.run(PlanTables.concernStacked, deadline: Self.countDeadline)
    }

    private func project(
        into report: inout PlanReport, on connection: PostgresConnection, _ progress: (Step, Int) -> Void
    ) async throws {
        let changed = report.changed
        var concerned = ConcernedPurchases(by: changed)
        while listsProducts || owners != .kept || changed?.isEmpty != true,
            let page = try await concerned.next(on: connection)
        {
            report.add(page.sold)
            var scopes = Set(page.scopes)
            if owners != .kept {
                let all = Array(Set(page.sold.map(\.scope)))
                scopes.formUnion(try await connection.run(PlanTables.concernedAmong, all))
            }
            let start = ContinuousClock.now
            try await project(Array(scopes), by: report.catalog, on: connection) { projector, pipeline in
                let changes = projector.changes()
                pipeline.add(PlanTables.addRows, unlessEmpty: report.rows(of: changes, by: projector))
                pipeline.add(PlanTables.addCredits, unlessEmpty: changes.balances)
                report.add(changes, page.sold)
            }
            report.purchaseCount += scopes.count
            report.projecting += ContinuousClock.now - start
            progress(.projecting, report.transactionCount)
        }
    }

    /// Projects purchases part by part, and runs the statements that `add` adds for each part.
    ///
    /// The next part is read while one is projected.
    private func project(
        _ scopes: [PurchaseScope], by catalog: Catalog, on connection: PostgresConnection,
        _ add: (BatchProjector, inout Pipeline) -> Void
    ) async throws {
        var rest = scopes[...]
        var next = try await BatchFold(reading: Array(rest.prefix(purchasesMax)), on: connection)
        while !rest.isEmpty {
            rest = rest.dropFirst(purchasesMax)
            let part = Array(rest.prefix(purchasesMax))
            async let following = BatchFold(reading: part, on: connection)
            var pipeline = Pipeline()
            add(try await BatchProjector(next, by: catalog, inSnapshot: connection), &pipeline)
            if !pipeline.isEmpty { _ = try await connection.run(pipeline) }
            next = try await following
        }
    }

    private func inParts(_ scopes: [PurchaseScope], _ body: ([PurchaseScope]) async throws -> Void) async throws {
        var rest = scopes[...]
        while !rest.isEmpty {
            try await body(Array(rest.prefix(purchasesMax)))
            rest = rest.dropFirst(purchasesMax)
        }
    }

    /// Calls `body` with pages of purchases in the order of their IDs.
    private func forEachPage(
        of next: Statement<AllPurchases.Window, PurchaseScope>, on connection: PostgresConnection,
        _ body: ([PurchaseScope]) async throws -> Void
    ) async throws {
        var last = PurchaseScope.start
        while case let scopes = Array(try await connection.run(next, (after: last, countMax: purchasesMax))),
            let end = scopes.last
        {
            try await body(scopes)
            last = end
        }
    }

    private func count(into report: inout PlanReport, on connection: PostgresConnection) async throws {
        guard report.rowCount > 0 else { return }
        _ = try await connection.run(PlanTables.join, deadline: Self.countDeadline)
        let digest = try await connection.run(
            PlanTables.digest, (report.instants, report.now), deadline: Self.countDeadline)[0]
        (report.entitlementCount, report.usersDigest) = (digest.entitlements, digest.users)
        try await report.count(on: connection)
        report.balances = Array(try await connection.run(PlanTables.balances, deadline: Self.countDeadline))
    }

    private func explain(into report: inout PlanReport, on connection: PostgresConnection) async throws {
        guard samplesMax > 0, report.rowCount > 0 else { return }
        let sampling: PlanTables.Sampling = (report.instants, userID, samplesMax)
        let samples = Array(try await connection.run(PlanTables.samples, sampling, deadline: Self.countDeadline))
        let changed = try await connection.run(PlanTables.purchases, samples, deadline: Self.countDeadline)
        let purchases = Dictionary(grouping: changed, by: \.index)
        for (index, sample) in samples.enumerated() {
            let purchases = purchases[index]?.map(\.purchase) ?? []
            let fold = try await BatchFold(reading: Array(Set(purchases.map(\.scope))), whole: true, on: connection)
            let held = try await BatchProjector(fold, by: report.force.catalog, inSnapshot: connection)
            let planned = try await BatchProjector(fold, by: report.catalog, inSnapshot: connection)
            report.samples.append(
                PlannedSample(
                    sample: sample,
                    purchases: purchases.map { purchase in
                        PlannedSample.Purchase(
                            key: purchase, held: held.contributions(of: purchase),
                            planned: planned.contributions(of: purchase))
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
