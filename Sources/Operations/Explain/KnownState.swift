import Holdings
import JSON
import Postgres

/// What was known of a user at an instant.
struct KnownState {
    struct Row {
        let key: String
        let bundleID: String?
        let originalTransactionID: String?
        let grantID: Int64?
        let periods: [PostgresPeriod]
        let version: Int64
        let changedAt: Int64
    }

    let userID: String
    let environment: String
    let knownAt: Int64
    let rows: [Row]

    static func read(
        _ userID: String,
        _ environment: String,
        _ knownAt: Int64,
        _ client: PostgresClient
    ) async throws -> KnownState {
        let rows = try await client.query(
            """
            SELECT entitlement_key, bundle_id, original_transaction_id, grant_id, periods, version,
                   changed_at
            FROM entitlements_as_known($1, $2, $3)
            ORDER BY entitlement_key, version
            """,
            [.text(userID), .timestamptz(milliseconds: knownAt), .text(environment)]
        )
        return KnownState(
            userID: userID,
            environment: environment,
            knownAt: knownAt,
            rows: rows.map { row in
                Row(
                    key: row.text(0),
                    bundleID: row.optionalText(1),
                    originalTransactionID: row.optionalText(2),
                    grantID: row.optionalInt8(3),
                    periods: row.periods(4),
                    version: row.int8(5),
                    changedAt: row.timestamp(6)
                )
            }
        )
    }

    func lines(at: Int64) -> [String] {
        let instant = CalendarDate.instant(milliseconds: knownAt)
        var lines = ["\(userID), \(environment), as known at \(instant)", ""]
        guard !rows.isEmpty else { return lines + ["nothing was known to be theirs"] }
        for row in rows {
            let holds = row.periods.contains { $0.contains(at) }
            let date = CalendarDate.instant(milliseconds: at)
            lines.append("\(row.key): \(holds ? "held" : "did not hold") at \(date)")
            lines.append("  \(row.periods.phrase)")
            let source = row.originalTransactionID.map { "purchase \($0) of \(row.bundleID ?? "")" }
            lines.append("  \(source ?? "grant \(row.grantID ?? 0)"), version \(row.version)")
        }
        return lines
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("userID", userID)
            writer.member("environment", environment)
            writer.member("knownAt", knownAt)
            writer.key("entitlements")
            writer.array { writer in
                for row in rows {
                    writer.object { writer in
                        writer.member("entitlement", row.key)
                        writer.member("bundleID", row.bundleID)
                        writer.member("originalTransactionID", row.originalTransactionID)
                        if let grantID = row.grantID { writer.member("grantID", grantID) }
                        writer.key("periods")
                        writer.periods(row.periods)
                        writer.member("version", row.version)
                        writer.member("changedAt", row.changedAt)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
