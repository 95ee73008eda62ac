package import Postgres

/// The constraints of this package's migrations that a record's value may violate permanently.
///
/// A violation of any other constraint, such as one added by an operator or a later migration, is
/// not the record's fault. The record waits until the constraint is removed or the worker is
/// updated.
package enum RecordConstraints {
    package static let names: Set<String> = [
        "entitlements_periods_check", "ledger_amount_check", "ledger_check", "stacked_purchases_quantity_check",
    ]
}

extension PostgresError {
    /// Whether the error is the violation of a constraint that is not listed here.
    var isOfUndeclaredConstraint: Bool {
        guard sqlState?.errorClass == "23" else { return false }
        return constraint.map { !RecordConstraints.names.contains($0) } ?? true
    }
}

/// An error for a record that a reachable database refuses, perhaps not permanently.
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
