import AppStore
import Entitlements
import Postgres

/// The statements that write whose purchases are.
enum OwnerWriting {
    struct Row {
        let key: PurchaseKey
        let owner: StoredOwner
    }

    static func statement(_ rows: [Row]) -> PostgresStatement {
        var keys = PurchaseColumns()
        var users = PostgresArray(of: .text)
        var rules = PostgresArray(of: .text)
        var spans = PostgresArray(of: .json)
        var directUsers = PostgresArray(of: .text)
        var appTransactions = PostgresArray(of: .text)
        for row in rows {
            keys.append(row.key)
            users.append(row.owner.userID)
            rules.append(row.owner.rule)
            spans.append(row.owner.spans)
            directUsers.append(row.owner.directUserID)
            appTransactions.append(row.owner.appTransactionID)
        }
        let columns = [users, rules, spans, directUsers, appTransactions]
        return PostgresStatement(write, keys.values + columns.map { .array($0) })
    }

    private static let write = """
        INSERT INTO owners AS known (
            original_transaction_id, environment, bundle_id, user_id, rule, spans, direct_user_id,
            app_transaction_id)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::text[],
            $8::text[])
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE SET
            user_id = excluded.user_id,
            rule = excluded.rule,
            spans = excluded.spans,
            direct_user_id = excluded.direct_user_id,
            app_transaction_id = excluded.app_transaction_id
        """

    /// The channel on which writers of links and of owners say that there is something to do.
    static let channel = "account_links"

    static let news = PostgresStatement("SELECT pg_notify('\(channel)', '')")
}
