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
        let report = try await planning.run(on: connection) { _, _ in }
        for (row, periods) in try await Self.rows("planned_rows", on: connection) {
            rows[row] = periods == "{}" ? nil : periods
        }
        for row in try await connection.query(
            "SELECT user_id || ' ' || currency, sum(amount)::int8 FROM planned_credits GROUP BY 1")
        { balances[row.text(0), default: 0] += row.int8(1) }
        now = Timestamp(try #require(report.instants.first)).description
        self.rows = rows
        self.balances = balances.filter { $0.value != 0 }
        access = try await Self.access(at: now, on: connection)
        let keys = report.counts.filter { $0.key != nil }
        lost = Int(keys.filter { $0.effect == .lost }.reduce(0) { $0 + $1.users })
        gained = Int(keys.filter { $0.effect == .gained }.reduce(0) { $0 + $1.users })
        changedCount = report.rowCount
    }

    static func rows(_ table: String, on connection: PostgresConnection) async throws -> [String: String] {
        let rows = try await connection.query(
            "SELECT concat_ws(' ', original_transaction_id, entitlement_key, user_id), periods::text FROM \(table)")
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
