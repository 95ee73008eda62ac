import AppStore
import Entitlements
import Postgres

/// The statements that raise the ownership facts of purchases to what is recorded of their
/// transactions and renewal infos, where they are missing or behind.
enum OwnershipCopying {
    static func statements(_ scopes: [PurchaseScope]) -> [PostgresStatement] {
        let parameters: [PostgresValue] = [
            .textArray(scopes.map(\.environment.rawValue)),
            .textArray(scopes.map(\.originalTransactionID)),
        ]
        return [facts, renewals].map { PostgresStatement($0, parameters) }
    }

    private static let facts = """
        INSERT INTO ownership_facts AS known (
            original_transaction_id, transaction_id, environment, bundle_id, track,
            signed_date_ms, content_hash, trust, purchase_date_ms, product_type, expires_date_ms,
            revocation_date_ms, account_token, app_transaction_id)
        SELECT fact.original_transaction_id, fact.transaction_id, fact.environment, fact.bundle_id,
               fact.track, fact.signed_date_ms, fact.content_hash, fact.trust,
               fact.purchase_date_ms, fact.product_type, fact.expires_date_ms,
               fact.revocation_date_ms, fact.account_token, fact.app_transaction_id
        FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
        JOIN transactions AS fact USING (environment, original_transaction_id)
        ON CONFLICT (original_transaction_id, transaction_id, environment, bundle_id, track)
        DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            trust = excluded.trust,
            product_type = excluded.product_type,
            expires_date_ms = excluded.expires_date_ms,
            revocation_date_ms = excluded.revocation_date_ms,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id
        WHERE (excluded.signed_date_ms, excluded.content_hash)
            > (known.signed_date_ms, known.content_hash)
        """

    private static let renewals = """
        INSERT INTO ownership_renewals AS known (
            original_transaction_id, environment, trust, signed_date_ms, content_hash,
            account_token, app_transaction_id)
        SELECT fact.original_transaction_id, fact.environment, fact.trust, fact.signed_date_ms,
               fact.content_hash, fact.account_token, fact.app_transaction_id
        FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
        JOIN renewals AS fact USING (environment, original_transaction_id)
        ON CONFLICT (original_transaction_id, environment, trust) DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id
        WHERE (excluded.signed_date_ms, excluded.content_hash)
            > (known.signed_date_ms, known.content_hash)
        """
}
