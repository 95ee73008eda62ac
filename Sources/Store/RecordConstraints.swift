package import Postgres

/// The constraints of our own migrations that a value of a record may violate for good.
///
/// Every other constraint, such as one that an operator has added or a later migration brought,
/// says nothing about the record: it waits until the constraint is gone, or the worker updated.
package enum RecordConstraints {
    package static let names: Set<String> = [
        "entitlements_periods_check", "ledger_amount_check", "ledger_check",
        "stacked_purchases_quantity_check",
    ]
}

extension PostgresError {
    /// Whether a constraint refuses a value that is not declared for a record's fault.
    var isOfUndeclaredConstraint: Bool {
        guard sqlState?.errorClass == "23" else { return false }
        return constraint.map { !RecordConstraints.names.contains($0) } ?? true
    }
}

/// A record that the database does not store although it answers, and for which nobody can say that
/// it never will.
package struct UnstoredRecord: Error, CustomStringConvertible {
    package let error: PostgresError

    package var description: String {
        let advice =
            error.isTooSlow
            ? "its transaction alone takes longer than database.statement_deadline: look for what"
                + " holds it up, or raise the deadline"
            : "a constraint refuses it that no migration declares for records: change the"
                + " constraint, or update this worker"
        return "\(advice) (\(error))"
    }
}
