import Holdings
import JSON
import Postgres

/// Something that a person granted, and nobody bought.
struct ExplainedGrant {
    let number: Int64
    let key: String
    let periods: [PostgresPeriod]
    let grantedBy: String
    let reason: String
    let revokedBy: String?
    let revocationReason: String?

    static let columns = """
        grant_id, entitlement_key, periods, granted_by, reason, revoked_by, revocation_reason
        """

    init(_ row: PostgresRow) {
        number = row.int8(0)
        key = row.text(1)
        periods = row.periods(2)
        grantedBy = row.text(3)
        reason = row.text(4)
        revokedBy = row.optionalText(5)
        revocationReason = row.optionalText(6)
    }

    func lines(now: Int64) -> [String] {
        let isActive = periods.contains { $0.contains(now) }
        let end = revokedBy.map { ["  revoked by \($0): \(revocationReason ?? "")"] } ?? []
        let state = isActive ? "ACTIVE" : "not active"
        return [
            "", "Manual grant \(number), not a purchase: \(key) \(state)",
            "  \(periods.phrase)", "  granted by \(grantedBy): \(reason)",
        ] + end
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("grantID", number)
            writer.member("entitlement", key)
            writer.key("periods")
            writer.periods(periods)
            writer.member("grantedBy", grantedBy)
            writer.member("reason", reason)
            writer.member("revokedBy", revokedBy)
            writer.member("revocationReason", revocationReason)
        }
    }
}
