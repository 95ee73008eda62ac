import AppStore
import Entitlements
import Postgres

/// The statements that write whose purchases are, and that everybody has been told.
enum OwnerWriting {
    struct Row {
        let key: PurchaseKey
        let owner: StoredOwner
        /// Whether a relinked observation has to tell, as no record of the purchase is in hand.
        ///
        /// Until that observation is acknowledged, the row is marked as untold.
        let isUntold: Bool
    }

    static func statement(_ rows: [Row]) -> PostgresStatement {
        var originals = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var users = PostgresArray(of: .text)
        var rules = PostgresArray(of: .text)
        var spans = PostgresArray(of: .json)
        var directUsers = PostgresArray(of: .text)
        var appTransactions = PostgresArray(of: .text)
        var untold = PostgresArray(of: .bool)
        for row in rows {
            originals.append(row.key.originalTransactionID)
            environments.append(row.key.environment.rawValue)
            bundleIDs.append(row.key.bundleID)
            users.append(row.owner.userID)
            rules.append(row.owner.rule)
            spans.append(row.owner.spans)
            directUsers.append(row.owner.directUserID)
            appTransactions.append(row.owner.appTransactionID)
            untold.append(row.isUntold)
        }
        let columns = [
            originals, environments, bundleIDs, users, rules, spans, directUsers, appTransactions,
            untold,
        ]
        return PostgresStatement(write, columns.map { .array($0) })
    }

    private static let write = """
        INSERT INTO owners AS known (
            original_transaction_id, environment, bundle_id, user_id, rule, spans, direct_user_id,
            app_transaction_id, untold_since_us)
        SELECT original_transaction_id, environment, bundle_id, user_id, rule, spans,
               direct_user_id, app_transaction_id,
               CASE WHEN is_untold THEN (extract(epoch FROM now()) * 1000000)::int8 END
        FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::text[],
            $8::text[], $9::bool[])
            AS new (original_transaction_id, environment, bundle_id, user_id, rule, spans,
                direct_user_id, app_transaction_id, is_untold)
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE SET
            user_id = excluded.user_id,
            rule = excluded.rule,
            spans = excluded.spans,
            direct_user_id = excluded.direct_user_id,
            app_transaction_id = excluded.app_transaction_id,
            untold_since_us = coalesce(excluded.untold_since_us, known.untold_since_us)
        """

    /// The channel on which writers of links and of owners say that there is something to do.
    static let channel = "account_links"

    static let news = PostgresStatement("SELECT pg_notify('\(channel)', '')")

    /// Owners of which nobody has been told, those that wait longest first.
    static let untold = PostgresStatement(
        """
        SELECT environment, bundle_id, original_transaction_id, user_id, rule, untold_since_us
        FROM owners WHERE untold_since_us IS NOT NULL
        ORDER BY untold_since_us LIMIT 500
        """
    )

    /// Clears marks, but for those of a change that was made since.
    static func told(_ relinks: [Relink]) -> PostgresStatement {
        var originals = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var marks = PostgresArray(of: .int8)
        for relink in relinks {
            originals.append(relink.key.originalTransactionID)
            environments.append(relink.key.environment.rawValue)
            bundleIDs.append(relink.key.bundleID)
            marks.append(relink.mark)
        }
        let columns = [originals, environments, bundleIDs, marks]
        return PostgresStatement(clearMarks, columns.map { .array($0) })
    }

    private static let clearMarks = """
        UPDATE owners SET untold_since_us = NULL
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[])
            AS told (original_transaction_id, environment, bundle_id, mark)
        WHERE owners.original_transaction_id = told.original_transaction_id
          AND owners.environment = told.environment AND owners.bundle_id = told.bundle_id
          AND owners.untold_since_us = told.mark
        """
}
