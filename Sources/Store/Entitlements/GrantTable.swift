package import AppStore
import Postgres

/// The table `grants`: manual grants, in addition to purchases.
///
/// The database's functions write it, with its changes in the history.
package enum GrantTable {
    package struct New: Sendable {
        package let userID: Identifier
        package let key: Identifier
        /// Nil if it never ends.
        package let until: StoredTime?
        package let reason: String
        package let grantedBy: String
        package let environment: String

        package init(
            userID: Identifier,
            key: Identifier,
            until: StoredTime?,
            reason: String,
            grantedBy: String,
            environment: String
        ) {
            self.userID = userID
            self.key = key
            self.until = until
            self.reason = reason
            self.grantedBy = grantedBy
            self.environment = environment
        }
    }

    package struct Revocation: Sendable {
        package let number: Int64
        package let reason: String
        package let revokedBy: String

        package init(number: Int64, reason: String, revokedBy: String) {
            self.number = number
            self.reason = reason
            self.revokedBy = revokedBy
        }
    }

    /// Returns the grant's number.
    package static let add = Statement<New, Int64>(
        [
            .value("user", \.userID), .value("key", \.key), .value("until", \.until),
            .value("reason", \.reason), .value("granted_by", \.grantedBy),
            .value("environment", \.environment),
        ],
        returning: RowReader("number"),
        """
        SELECT grant_entitlement($user, $key, $until, $reason, $granted_by, $environment) AS number
        """
    )

    /// Returns false if there is no such grant, or if it was revoked before.
    package static let revoke = Statement<Revocation, Bool>(
        [
            .value("number", \.number), .value("reason", \.reason),
            .value("revoked_by", \.revokedBy),
        ],
        returning: RowReader("is_revoked"),
        "SELECT revoke_grant($number, $reason, $revoked_by) AS is_revoked"
    )
}
