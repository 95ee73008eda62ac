import AppStore
import Holdings
import JSON
import Postgres
import Store

/// The entitlements of a user as known at an instant.
struct KnownState {
    let userID: Identifier
    let environment: String
    let knownAt: Int64
    let rows: [UserDetails.KnownEntitlement]

    static func read(
        _ userID: Identifier,
        _ environment: String,
        _ knownAt: Int64,
        _ client: PostgresClient
    ) async throws -> KnownState {
        let subject = PurchaseDetails.Subject(id: userID, environment: environment)
        let instant = StoredTime(milliseconds: knownAt)
        return KnownState(
            userID: userID,
            environment: environment,
            knownAt: knownAt,
            rows: Array(try await client.run(UserDetails.known, (subject, instant)))
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
                        writer.member("changedAt", row.changedAt.milliseconds)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
