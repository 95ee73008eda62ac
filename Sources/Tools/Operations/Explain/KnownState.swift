import AppStore
import Holdings
package import JSON
import Postgres
import Store

/// The entitlements of a user as known at an instant.
struct KnownState {
    let userID: Identifier
    let environment: String
    let knownAt: Timestamp
    let rows: [UserDetails.KnownEntitlement]

    static func read(_ userID: Identifier, _ environment: String, at knownAt: Timestamp, _ client: PostgresClient)
        async throws -> KnownState
    {
        let subject = PurchaseDetails.Subject(id: userID, environment: environment)
        let instant = StoredTime(knownAt)
        return KnownState(
            userID: userID, environment: environment, knownAt: knownAt,
            rows: Array(try await client.run(UserDetails.known, (subject, instant))))
    }

    func lines(at: Int64) -> [String] {
        let instant = knownAt.toSecond
        var lines = ["\(userID), \(environment), as known at \(instant)", ""]
        guard !rows.isEmpty else { return lines + ["nothing was known to be theirs"] }
        for row in rows {
            let holds = row.periods.contains { $0.contains(at) }
            let date = Timestamp(milliseconds: at).toSecond
            lines.append("\(row.key): \(holds ? "held" : "did not hold") at \(date)")
            lines.append("  \(row.periods.phrase)")
            let source = row.originalTransactionID.map { "purchase \($0) of \(row.bundleID ?? "")" }
            lines.append("  \(source ?? "grant \(row.grantID ?? 0)"), version \(row.version)")
        }
        return lines
    }

    var json: JSONContent {
        ["user_id": userID, "environment": environment, "known_at": knownAt, "entitlements": rows]
    }
}

extension UserDetails.KnownEntitlement: JSONRepresentable {
    package var json: JSONContent {
        [
            "entitlement": key, "bundle_id": bundleID, "original_transaction_id": originalTransactionID,
            "grant_id": grantID, "periods": periods, "version": version, "changed_at": changedAt,
        ]
    }
}
