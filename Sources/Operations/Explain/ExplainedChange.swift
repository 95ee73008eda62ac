import Holdings
import JSON
import Postgres
import Store

extension UserDetails.Change {
    var lines: [String] {
        var why = cause
        if let causeID { why += " \(causeID)" }
        if let source { why += ", read at \(source)" }
        if let catalogVersion { why += ", catalog version \(catalogVersion)" }
        let date = CalendarDate.instant(milliseconds: changedAt.milliseconds)
        let purchase = originalTransactionID.map { " of purchase \($0)" } ?? ""
        return [
            "  version \(version), \(date): \(key)\(purchase)",
            "    was \(old.phrase)", "    became \(new.phrase)\(terms.phrase)",
            "    because of \(why)",
        ]
    }

    /// - Parameter isOfOneUser: false names the user, if those of others are shown too.
    func write(to writer: inout JSONWriter, isOfOneUser: Bool = true) {
        writer.object { writer in
            if !isOfOneUser { writer.member("userID", userID) }
            writer.member("version", version)
            writer.member("changedAt", changedAt.milliseconds)
            writer.member("entitlement", key)
            writer.member("originalTransactionID", originalTransactionID)
            writer.key("old")
            writer.periods(old)
            writer.key("new")
            writer.periods(new)
            writer.terms(terms)
            writer.member("cause", cause)
            writer.member("causeID", causeID)
            writer.optional("catalogVersion", catalogVersion)
            writer.member("source", source)
        }
    }
}

/// Something that a person granted, and nobody bought.
extension UserDetails.Grant {
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

/// A debit of a balance by the app's own servers.
extension UserDetails.Debit {
    var phrase: String {
        "spent \(amount) \(currency) for \(reference), "
            + CalendarDate.instant(milliseconds: debitedAt.milliseconds)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("reference", reference)
            writer.member("currency", currency)
            writer.member("amount", amount)
            writer.member("debitedAt", debitedAt.milliseconds)
        }
    }
}
