package import AppStore
import Postgres

/// The table `grants`: manual grants, in addition to purchases.
///
/// Functions of the database write the table, and its changes to the history.
package enum GrantTable {
    package typealias New = (
        userID: Identifier, key: Identifier,
        /// The end of the grant.
        ///
        /// `nil` if it never ends.
        until: StoredTime?, reason: String, grantedBy: String, environment: String,
        /// The caller's name for the grant, which is added once; `nil` adds a grant with each call.
        reference: Identifier?
    )

    package typealias Revocation = (number: Int64, reason: String, revokedBy: String)

    /// Whether a catalog, a grant or a purchase names an entitlement.
    package static let isKnown = Statement<Identifier, Bool>(
        [.value("key")], returning: RowReader("is_known"),
        "SELECT EXISTS (SELECT FROM known_names WHERE kind = 'entitlement' AND name = $key) AS is_known")

    /// The known entitlements, among which a misspelt key is looked for.
    package static let knownKeys = Statement<Void, Identifier>(
        returning: RowReader("name"),
        "SELECT DISTINCT name FROM known_names WHERE kind = 'entitlement' ORDER BY name LIMIT 10000")

    /// Adds a grant and returns its number.
    package static let add = Statement<New, Int64>(
        [
            .value("user", \.userID), .value("key", \.key), .value("until", \.until), .value("reason", \.reason),
            .value("granted_by", \.grantedBy), .value("environment", \.environment), .value("reference", \.reference),
        ], returning: RowReader("number"),
        """
        SELECT grant_entitlement($user, $key, $until, $reason, $granted_by, $environment, $reference) AS number
        """)

    /// Revokes a grant; returns false if it does not exist or was revoked before.
    package static let revoke = Statement<Revocation, Bool>(
        [.value("number", \.number), .value("reason", \.reason), .value("revoked_by", \.revokedBy)],
        returning: RowReader("is_revoked"), "SELECT revoke_grant($number, $reason, $revoked_by) AS is_revoked")
}
