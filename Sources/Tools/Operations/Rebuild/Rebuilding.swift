import AppStore
import Derivation
import Entitlements
import Postgres
import Store

/// A comparison of all purchases in the order of their IDs, and of the contents and facts without a purchase.
///
/// If a purchase has a lost transaction that cannot be restored here, its owner and rows are
/// compared but not replaced: the remaining facts would remove access that was paid for.
struct Rebuilding {
    private let client: PostgresClient
    private let isReplacing: Bool
    private let reprojector = Reprojector()
    /// The review of the owners.
    ///
    /// `nil` until a `link-worker` has stored its rules.
    private let review: OwnerReview?
    private let size: TransactionSize
    private let purchasesMax: Int

    /// Maximum comparisons of a difference; a projection under way may still remove it.
    private static let looksMax = 5
    private static let pause = Duration.seconds(1)
    /// Maximum attempts at purchases whose facts appear in rows of other purchases; each attempt
    /// adds these purchases.
    private static let attemptsMax = 5

    /// - Parameter purchasesMax: maximum purchases that are locked at once.
    init(client: PostgresClient, isReplacing: Bool, purchasesMax: Int = 200) async throws {
        self.client = client
        self.isReplacing = isReplacing
        self.purchasesMax = purchasesMax
        size = TransactionSize(statementDeadline: client.statementDeadline)
        review = try await client.run(LinkingRulesTable.read).first.flatMap { $0 }.map {
            OwnerReview(client: client, rules: $0)
        }
    }

    /// Counts the purchases.
    ///
    /// `nil` if PostgreSQL takes too long to count them.
    func purchaseCount() async throws -> Int64? {
        do { return try await client.run(AllPurchases.count)[0] } catch let error as PostgresError
            where error.code == .deadlineExceeded
        { return nil }
    }

    /// - Parameter found: receives the differences of each part, and the number of compared purchases.
    func run(_ found: (RebuildDifferences, Int) -> Void) async throws -> RebuildReport {
        var report = RebuildReport(isReplacing: isReplacing, comparesOwners: review != nil)
        var incomplete: Set<PurchaseScope> = []
        try await UnclaimedContents(client: client).read { findings in
            let differences = RebuildDifferences(facts: findings)
            incomplete.formUnion(differences.incomplete)
            report.add(differences)
            found(differences, report.purchaseCount)
        }
        var last = PurchaseScope.start
        while true {
            let window: AllPurchases.Window = (after: last, countMax: purchasesMax)
            let scopes = Array(try await client.run(AllPurchases.next, window))
            guard let end = scopes.last else { break }
            last = end
            // Compares the purchases of all apps with this original transaction ID.
            let purchases = scopes.map { $0.purchase("") }
            let differences = try await differences(of: purchases, incomplete)
            report.purchaseCount += purchases.count
            report.add(differences)
            found(differences, report.purchaseCount)
        }
        try await DownloadReview(client: client, isReplacing: isReplacing).run { findings in
            let differences = RebuildDifferences(facts: findings)
            report.add(differences)
            found(differences, report.purchaseCount)
        }
        return report
    }

    /// Compares purchases, and lists the purchases that PostgreSQL refuses separately.
    private func differences(of purchases: [PurchaseKey], _ incomplete: Set<PurchaseScope>) async throws
        -> RebuildDifferences
    {
        var all = RebuildDifferences()
        _ = try await RecordFaults.isolating(purchases[...], size: size) { part in
            let differences = try await lastingDifferences(of: Array(part), incomplete)
            all.facts += differences.facts
            all.owners += differences.owners
            all.rows += differences.rows
            all.kept += differences.kept
            all.keptOwners += differences.keptOwners
            return part.map { _ in }
        } refused: { purchase, error in
            all.refused.append(RefusedPurchase(purchase: purchase, detail: error.recordFaultDetail))
        }
        return all
    }

    /// The differences that remain after the workers have had time to write; replaced if requested.
    private func lastingDifferences(of purchases: [PurchaseKey], _ incomplete: Set<PurchaseScope>) async throws
        -> RebuildDifferences
    {
        var differences = try await rebuild(purchases, isReplacing: false)
        var looks = 1
        while differences.withoutAdditions.count > 0, looks < Self.looksMax {
            guard try await client.run(AllPurchases.areWorkersConnected)[0] else { break }
            try await Task.sleep(for: Self.pause)
            differences = try await rebuild(purchases, isReplacing: false)
            looks += 1
        }
        let kept = incomplete.union(differences.incomplete)
        var lasting = differences
        if isReplacing, differences.count > 0 {
            lasting = try await rebuild(purchases, isReplacing: true, keeping: kept)
        }
        lasting.kept = differences.rows.filter { kept.contains($0.purchase.scope) }
        lasting.keptOwners = differences.owners.filter { kept.contains($0.purchase.scope) }
        lasting.rows.removeAll { kept.contains($0.purchase.scope) }
        lasting.owners.removeAll { kept.contains($0.purchase.scope) }
        return lasting
    }

    /// An error that rolls back a transaction which must not write anything.
    private struct Undone: Error { let differences: RebuildDifferences }

    /// Compares or replaces purchases, once more if the connection was lost.
    ///
    /// The server rolls back the transaction of an idle process, such as this one while it is suspended.
    ///
    /// - Parameter kept: purchases whose owners and rows are not written.
    private func rebuild(_ purchases: [PurchaseKey], isReplacing: Bool, keeping kept: Set<PurchaseScope> = [])
        async throws -> RebuildDifferences
    {
        do { return try await rebuildOnce(purchases, isReplacing: isReplacing, keeping: kept) } catch let error
            as PostgresError where error.code == .connectionLost
        { return try await rebuildOnce(purchases, isReplacing: isReplacing, keeping: kept) }
    }

    /// Rebuilds once, including further purchases whose facts appear in rows of the given purchases.
    private func rebuildOnce(_ purchases: [PurchaseKey], isReplacing: Bool, keeping kept: Set<PurchaseScope>)
        async throws -> RebuildDifferences
    {
        var purchases = purchases
        var attempt = 1
        while true {
            do { return try await rebuildTogether(purchases, isReplacing: isReplacing, keeping: kept) } catch let
                missing as ScopesMissing where attempt < Self.attemptsMax
            {
                purchases += missing.scopes.map { $0.purchase("") }
                attempt += 1
            }
        }
    }

    /// Compares or replaces facts, owners and rows in one transaction, because rows depend on the
    /// corrected facts and owners.
    private func rebuildTogether(_ purchases: [PurchaseKey], isReplacing: Bool, keeping kept: Set<PurchaseScope>)
        async throws -> RebuildDifferences
    {
        let scopes = Set(purchases.map(\.scope))
        let projected = purchases.filter { !kept.contains($0.scope) }
        func facts(_ connection: PostgresConnection) async throws -> [FactFinding] {
            var review = FactReview(of: scopes, isOfOwners: self.review != nil, on: connection)
            return try await review.run()
        }
        do {
            guard let review else {
                return try await client.transaction { connection in
                    _ = try await connection.run(Locks.projection, Array(scopes))
                    let found = RebuildDifferences(facts: try await facts(connection))
                    return try await rebuild(projected, found, isReplacing: isReplacing, on: connection)
                }
            }
            return try await review.transaction(about: purchases, keeping: kept, mending: facts) {
                connection, facts, owners in
                let found = RebuildDifferences(facts: facts, owners: owners)
                return try await rebuild(projected, found, isReplacing: isReplacing, on: connection)
            }
        } catch let undone as Undone { return undone.differences }
    }

    private func rebuild(
        _ purchases: [PurchaseKey], _ found: RebuildDifferences, isReplacing: Bool, on connection: PostgresConnection
    ) async throws -> RebuildDifferences {
        var differences = found
        differences.rows = try await reprojector.replace(purchases, on: connection)
        if !self.isReplacing { differences = differences.withoutAdditions }
        guard isReplacing else { throw Undone(differences: differences) }
        return differences
    }
}
