import AppStore
import Holdings
package import JSON
import Postgres
import Store

extension RecordedChange: JSONRepresentable {
    var lines: [String] {
        var why = cause
        if let causeID { why += " \(causeID)" }
        if let source { why += ", read at \(source)" }
        if let catalogVersion { why += ", catalog version \(catalogVersion)" }
        let date = Timestamp(changedAt).toSecond
        let purchase = originalTransactionID.map { " of purchase \($0)" } ?? ""
        return [
            "  version \(version), \(date): \(key)\(purchase)", "    was \(old.phrase)",
            "    became \(new.phrase)\(terms.phrase)", "    because of \(why)",
        ]
    }

    package var json: JSONContent {
        [
            "user_id": userID, "version": version, "changed_at": changedAt, "entitlement": key,
            "original_transaction_id": originalTransactionID, "old": old, "new": new, "cause": cause,
            "cause_id": causeID, "catalog_version": catalogVersion, "source": source.map { "\($0)" },
        ] + terms.json
    }
}

/// A grant by a person, not bought.
extension UserDetails.Grant: JSONRepresentable {
    func lines(now: Int64) -> [String] {
        let isActive = periods.contains { $0.contains(now) }
        let end = revokedBy.map { ["  revoked by \($0): \(revocationReason ?? "")"] } ?? []
        let state = isActive ? "ACTIVE" : "not active"
        return [
            "", "Manual grant \(number), not a purchase: \(key) \(state)", "  \(periods.phrase)",
            "  granted by \(grantedBy): \(reason)",
        ] + end
    }

    package var json: JSONContent {
        [
            "grant_id": number, "entitlement": key, "periods": periods, "granted_by": grantedBy, "reason": reason,
            "revoked_by": revokedBy, "revocation_reason": revocationReason,
        ]
    }
}

/// A debit of a balance by the app's own servers.
extension UserDetails.Debit: JSONRepresentable {
    var phrase: String { "spent \(amount) \(currency) for \(reference), \(Timestamp(debitedAt).toSecond)" }

    package var json: JSONContent {
        ["reference": reference, "currency": currency, "amount": amount, "debited_at": debitedAt]
    }
}
