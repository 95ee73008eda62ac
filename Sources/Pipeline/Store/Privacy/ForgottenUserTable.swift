package import AppStore
import JSON
package import Postgres

/// The table `forgotten_users`, and the removal of a user's links.
package enum ForgottenUserTable {
    package typealias Request = (userID: Identifier, by: String, reason: String)

    package struct Forgotten: Equatable, Sendable {
        package let number: Int64
        package let links: Int64
        package let claims: Int64
        /// Number of facts that named the user by an account token, if tokens are user IDs.
        package let tokens: Int64
    }

    /// Removes the user's links, claims and account tokens, and records the removal, in one transaction.
    ///
    /// Running copies of `link-worker` then determine the owners again.
    package static let forget = Statement<Request, Forgotten>(
        [.value("user", \.userID), .value("by", \.by), .value("reason", \.reason)],
        returning: RowReader(Forgotten.init, "number", "links", "claims", "tokens"),
        "SELECT number, links, claims, tokens FROM forget_user($user, $by, $reason)")

    /// Whether anything is stored about a user, beside that they were forgotten.
    package static func isKnown(_ userID: Identifier, on connection: PostgresConnection) async throws -> Bool {
        let tables = try await connection.run(SupportAnswers.stored, (userID, 0))[0].root["tables"]
        return tables?.elements.contains { $0["table"]?.string != "forgotten_users" } ?? false
    }

    /// The given users that were forgotten.
    package static let among = Statement<[Identifier], Identifier>(
        [.values("users") { $0 }], returning: RowReader("user_id"),
        """
        SELECT user_id FROM unnest($users) AS asked (user_id)
        WHERE EXISTS (
            SELECT FROM forgotten_users WHERE user_sha256 = sha256(convert_to(asked.user_id, 'UTF8'))
        )
        """)

    /// The given account tokens that are IDs of forgotten users.
    ///
    /// If tokens are user IDs, forgetting removes them from the facts, but not from Apple's signed contents.
    package static let tokens = Statement<[AccountToken], AccountToken>(
        [.values("tokens") { $0 }], returning: RowReader("token"),
        """
        SELECT token FROM unnest($tokens) AS token
        WHERE EXISTS (
            SELECT FROM forgotten_users
            WHERE user_sha256 IN (
                sha256(convert_to(token, 'UTF8')), sha256(convert_to(upper(token), 'UTF8'))
            )
        )
        """)
}
