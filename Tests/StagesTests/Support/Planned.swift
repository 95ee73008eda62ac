import AppStore
import Postgres
import Store
import Testing

@testable import Operations

/// The state that a plan announces.
struct Planned {
    let now: String
    /// The rows after the catalog is applied.
    let rows: [String: String]
    let balances: [String: Int64]
    /// The users and keys with access before.
    let access: Set<String>
    let lost: Int
    let gained: Int
    let changedCount: Int

    init(_ planning: Planning, on connection: PostgresConnection) async throws {
        var rows = try await Self.rows("entitlements", on: connection)
        var balances = try await Self.balances(on: connection)
        var counts: [Planning.Step: Int] = [:]
        let report = try await planning.run(on: connection) { counts[$0] = $1 }
        try await Self.expect(counts, on: connection)
        for (row, periods) in try await Self.rows("planned_rows", "planned", on: connection) {
            rows[row] = periods == "{}" ? nil : periods
        }
        for row in try await connection.query(
            "SELECT user_id || ' ' || currency, sum(amount)::int8 FROM planned_credits GROUP BY 1")
        { balances[row.text(0), default: 0] += row.int8(1) }
        now = Timestamp(try #require(report.instants.first)).description
        self.rows = rows
        self.balances = balances.filter { $0.value != 0 }
        access = try await Self.access(at: now, on: connection)
        let keys = report.users.filter { $0.key != nil }
        lost = Int(keys.reduce(0) { $0 + $1.lost })
        gained = Int(keys.reduce(0) { $0 + $1.gained })
        changedCount = report.rowCount
    }

    /// Expects no step to count more than there is of its unit.
    private static func expect(_ counts: [Planning.Step: Int], on connection: PostgresConnection) async throws {
        let all = try await connection.query(
            "SELECT count(*), count(DISTINCT (original_transaction_id, environment)) FROM transactions")[0]
        for (step, count) in counts where step != .linking {
            #expect(count <= all.int8(step.unit == "purchase" ? 1 : 0), "\(step)")
        }
    }

    static func rows(_ table: String, _ periods: String = "periods", on connection: PostgresConnection) async throws
        -> [String: String]
    {
        let key = "concat_ws(' ', original_transaction_id, entitlement_key, user_id)"
        let rows = try await connection.query("SELECT \(key), \(periods)::text FROM \(table)")
        return Dictionary(rows.map { ($0.text(0), $0.text(1)) }) { $1 }
    }

    static func balances(on connection: PostgresConnection) async throws -> [String: Int64] {
        let rows = try await connection.query(
            "SELECT user_id || ' ' || currency, sum(amount - taken_back)::int8 FROM ledger GROUP BY 1")
        return Dictionary(rows.map { ($0.text(0), $0.int8(1)) }) { $1 }.filter { $0.value != 0 }
    }

    static func access(at instant: String, on connection: PostgresConnection) async throws -> Set<String> {
        let rows = try await connection.query(
            "SELECT user_id || ' ' || entitlement_key FROM entitlements WHERE periods @> '\(instant)'::timestamptz")
        return Set(rows.map { $0.text(0) })
    }
}
