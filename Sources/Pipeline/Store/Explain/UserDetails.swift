package import AppStore
package import Postgres

/// Support staff's view of a user in one environment, besides the purchases: history and grants.
package enum UserDetails {
    package typealias Subject = PurchaseDetails.Subject

    /// The versions of the shown state.
    package struct Versions: Sendable {
        /// The version of the user's last change; nil if there was none.
        package let user: Int64?
        /// The version of the newest catalog.
        ///
        /// `nil` if no catalog was applied.
        package let catalog: Int64?
    }

    package static let versions = Statement<Identifier, Versions>(
        [.value("user")], returning: RowReader(Versions.init, "user_version", "catalog_version"),
        """
        SELECT (SELECT version FROM user_versions WHERE user_id = $user) AS user_version,
               (SELECT max(version) FROM catalog_versions) AS catalog_version
        """)

    /// A manual grant, without a purchase.
    package struct Grant: Sendable {
        package let number: Int64
        package let key: Identifier
        package let periods: [PostgresPeriod]
        package let grantedBy: String
        package let reason: String
        package let revokedBy: String?
        package let revocationReason: String?
    }

    package static let grants = Statement<Subject, Grant>(
        Subject.parameters,
        returning: RowReader(
            Grant.init, "grant_id", "entitlement_key", "periods", "granted_by", "reason", "revoked_by",
            "revocation_reason"),
        """
        SELECT grant_id, entitlement_key, periods, granted_by, reason, revoked_by,
               revocation_reason
        FROM grants WHERE user_id = $subject AND environment = $environment ORDER BY grant_id
        """)

    package static let balances = Statement<Subject, (currency: Identifier, amount: Int64)>(
        Subject.parameters, returning: RowReader({ ($0, $1) }, "currency", "amount"),
        """
        SELECT currency, ledger_balance($subject, currency, $environment) AS amount FROM (
            SELECT currency FROM ledger WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT currency FROM ledger_debits
            WHERE user_id = $subject AND environment = $environment
        ) AS held ORDER BY currency
        """)

    /// An amount that the app's own servers debited from a balance.
    package struct Debit: Sendable {
        package let reference: Identifier
        package let currency: Identifier
        package let amount: Int64
        package let debitedAt: StoredTime
    }

    package static let debits = Statement<Subject, Debit>(
        Subject.parameters, returning: RowReader(Debit.init, "reference", "currency", "amount", "debited_at"),
        """
        SELECT reference, currency, amount, debited_at FROM ledger_debits
        WHERE user_id = $subject AND environment = $environment ORDER BY debited_at, reference
        """)

    /// The user's rows in an environment that was not asked about.
    package struct OtherEnvironment: Sendable {
        package let name: String
        package let purchases: Int64
        package let grants: Int64
    }

    package static let otherEnvironments = Statement<Subject, OtherEnvironment>(
        Subject.parameters, returning: RowReader(OtherEnvironment.init, "environment", "purchases", "grants"),
        """
        SELECT environment, count(bundle_id) AS purchases, count(grant_id) AS grants FROM (
            SELECT environment, bundle_id, original_transaction_id, NULL::int8 AS grant_id
            FROM entitlements WHERE user_id = $subject
            UNION
            SELECT environment, bundle_id, original_transaction_id, NULL
            FROM changes WHERE user_id = $subject AND grant_id IS NULL
            UNION
            SELECT environment, bundle_id, original_transaction_id, NULL
            FROM ledger WHERE user_id = $subject
            UNION
            SELECT environment, NULL, NULL, grant_id FROM grants WHERE user_id = $subject
        ) AS theirs
        WHERE environment <> $environment GROUP BY environment ORDER BY environment
        """)
}

extension UserDetails {
    package static let changes = Statement<Subject, RecordedChange>(
        Subject.parameters, returning: RecordedChange.reader,
        """
        SELECT \(RecordedChange.reader.names(of: "change"))
        FROM changes AS change
        WHERE user_id = $subject AND environment = $environment ORDER BY version
        """)

    /// The changes by the purchase of a transaction: the history is kept by user, so its present
    /// owners and those before a transfer are searched, but none whose link was corrected.
    package static let changesOfTransaction = Statement<Subject, RecordedChange>(
        Subject.parameters, returning: RecordedChange.reader,
        """
        SELECT \(RecordedChange.reader.names(of: "change"))
        FROM (
            SELECT theirs.*, whose.user_id
            FROM \(PurchaseDetails.behindTransaction)
            CROSS JOIN LATERAL (
                SELECT fact.user_id FROM entitlements AS fact
                WHERE fact.original_transaction_id = theirs.original_transaction_id
                    AND fact.environment = $environment AND fact.bundle_id = theirs.bundle_id
                UNION
                SELECT fact.user_id FROM ledger AS fact
                WHERE fact.original_transaction_id = theirs.original_transaction_id
                    AND fact.environment = $environment AND fact.bundle_id = theirs.bundle_id
                UNION
                SELECT coalesce(span ->> 0, owner.user_id) FROM owners AS owner
                LEFT JOIN LATERAL json_array_elements(owner.spans) AS span ON true
                WHERE owner.original_transaction_id = theirs.original_transaction_id
                    AND owner.environment = $environment AND owner.bundle_id = theirs.bundle_id
            ) AS whose
        ) AS held
        JOIN changes AS change USING (user_id, bundle_id, original_transaction_id)
        WHERE change.environment = $environment
        ORDER BY change.user_id, change.version
        """)

    /// An entitlement of a user as known at an instant.
    package struct KnownEntitlement: Sendable {
        package let key: Identifier
        package let bundleID: Identifier?
        package let originalTransactionID: Identifier?
        package let grantID: Int64?
        package let periods: [PostgresPeriod]
        package let version: Int64
        package let changedAt: StoredTime
    }

    package static let known = Statement<(subject: Subject, at: StoredTime), KnownEntitlement>(
        [.value("user", \.subject.id), .value("at", \.at), .value("environment", \.subject.environment)],
        returning: RowReader(
            KnownEntitlement.init, "entitlement_key", "bundle_id", "original_transaction_id", "grant_id", "periods",
            "version", "changed_at"),
        """
        SELECT entitlement_key, bundle_id, original_transaction_id, grant_id, periods, version,
               changed_at
        FROM entitlements_as_known($user, $at, $environment)
        ORDER BY entitlement_key, version
        """)
}
