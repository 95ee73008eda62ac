package import Postgres

/// The constraints of our own migrations that a record's value may violate permanently.
///
/// Any other constraint, such as one that an operator or a later migration has added, is not the
/// record's fault: the record waits until the constraint is gone, or the worker updated.
package enum RecordConstraints {
    package static let names: Set<String> = [
        "entitlements_periods_check", "ledger_amount_check", "ledger_check", "stacked_purchases_quantity_check",
    ]
}

extension PostgresError {
    /// Whether the value violates a constraint that is not listed here.
    var isOfUndeclaredConstraint: Bool {
        guard sqlState?.errorClass == "23" else { return false }
        return constraint.map { !RecordConstraints.names.contains($0) } ?? true
    }
}

/// A record that the database refuses although it is reachable, perhaps not permanently.
package struct UnstoredRecord: Error, CustomStringConvertible {
    package let error: PostgresError

    package var description: String {
        let advice =
            error.isTooSlow
            ? "its transaction alone takes longer than database.statement_deadline: find the cause"
                + " of the delay, or raise the deadline"
            : "it violates a constraint that no migration declares for records: change the"
                + " constraint, or update this worker"
        return "\(advice) (\(error))"
    }
}
