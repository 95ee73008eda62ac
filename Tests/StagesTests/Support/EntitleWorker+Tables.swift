import AppStore
import EntitleStage
import Entitlements
import Postgres
import TestSupport

@testable import Store

extension EntitleWorker {
    /// The table `entitlements`.
    func rows() async throws -> [PurchaseKey: Set<EntitlementRow>] {
        try await rows(
            """
            SELECT \(EntitlementTable.reader.names(of: "held")) FROM entitlements AS held
            """)
    }

    /// The sums of the history of changes; its versions must neither skip nor repeat.
    func rowsByHistory() async throws -> [PurchaseKey: Set<EntitlementRow>] {
        try await rows(
            """
            SELECT \(EntitlementTable.reader.names(of: "newest"))
            FROM (
                SELECT DISTINCT ON (
                    user_id, environment, bundle_id, original_transaction_id, entitlement_key)
                    *, new_periods AS periods
                FROM changes
                ORDER BY user_id, environment, bundle_id, original_transaction_id,
                    entitlement_key, version DESC
            ) AS newest
            WHERE NOT isempty(new_periods)
            """)
    }

    /// Users whose versions have a gap, or whose last one is not that of their newest change.
    func usersWithBrokenVersions() async throws -> [String] {
        try await client.query(
            """
            SELECT coalesce(known.user_id, had.user_id)
            FROM user_versions AS known
            FULL JOIN (
                SELECT user_id, count(*) AS count, max(version) AS newest
                FROM changes GROUP BY user_id
            ) AS had ON had.user_id = known.user_id
            WHERE known.version IS DISTINCT FROM had.newest
                OR had.newest IS DISTINCT FROM had.count
            """
        ).map { $0.text(0) }
    }

    func balances() async throws -> [Identifier: [Identifier: Int64]] {
        var balances: [Identifier: [Identifier: Int64]] = [:]
        let rows = try await client.query(
            """
            SELECT user_id,
                   CASE environment WHEN 'Production' THEN '' ELSE environment || '/' END
                       || currency,
                   ledger_balance(user_id, currency, environment)
            FROM (SELECT DISTINCT user_id, currency, environment FROM ledger) AS credited
            """)
        for row in rows { balances[Identifier(row.text(0)), default: [:]][Identifier(row.text(1))] = row.int8(2) }
        return balances
    }

    /// The meaning of each type and subtype in the table `notifications`.
    func meanings() async throws -> [String: String] {
        var meanings: [String: String] = [:]
        for row in try await client.query("SELECT type, subtype, meaning FROM notifications") {
            meanings["\(row.text(0))/\(row.optionalText(1) ?? "")"] = row.text(2)
        }
        return meanings
    }

    func count(_ table: String) async throws -> Int64 {
        try await client.query("SELECT count(*) FROM \(table)")[0].int8(0)
    }

    private func rows(_ sql: String) async throws -> [PurchaseKey: Set<EntitlementRow>] {
        var rows: [PurchaseKey: Set<EntitlementRow>] = [:]
        for row in try await client.run(Statement<Void, EntitlementTable.Row>(returning: EntitlementTable.reader, sql))
        { rows[row.purchase, default: []].insert(row.row) }
        return rows
    }
}

extension EntitlementFold {
    /// Rows in the form of the table `entitlements`.
    var rows: [PurchaseKey: Set<EntitlementRow>] { projected.compactMapValues { $0.rows.isEmpty ? nil : Set($0.rows) } }
}
