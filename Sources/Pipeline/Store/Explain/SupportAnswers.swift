package import AppStore
import Postgres

/// The answers of the database's own functions about a user or a purchase, as JSON; `API.md` describes them.
package enum SupportAnswers {
    package typealias User = (id: Identifier, environment: String, knownAt: StoredTime?, at: StoredTime?, rowsMax: Int)

    package static let user = Statement<User, JSONText>(
        [
            .value("user", \.id), .value("environment", \.environment), .value("known_at", \.knownAt),
            .value("at", \.at), .value("rows_max", \.rowsMax),
        ], returning: RowReader("answer"),
        "SELECT explain_user($user, $environment, $known_at, coalesce($at, now()), $rows_max) AS answer")

    package typealias Transaction = (id: Identifier, environment: String, at: StoredTime?, rowsMax: Int)

    package static let transaction = Statement<Transaction, JSONText>(
        [
            .value("transaction", \.id), .value("environment", \.environment), .value("at", \.at),
            .value("rows_max", \.rowsMax),
        ], returning: RowReader("answer"),
        "SELECT explain_transaction($transaction, $environment, coalesce($at, now()), $rows_max) AS answer")

    package static let stored = Statement<(userID: Identifier, rowsMax: Int), JSONText>(
        [.value("user", \.userID), .value("rows_max", \.rowsMax)], returning: RowReader("answer"),
        "SELECT stored_about_user($user, $rows_max) AS answer")
}
