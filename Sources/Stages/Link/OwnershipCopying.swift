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

    private static let facts = OwnershipRaising.facts(
        """
        SELECT fact.original_transaction_id, fact.transaction_id, fact.environment, fact.bundle_id,
               fact.track, fact.signed_date_ms, fact.content_hash, fact.trust,
               fact.purchase_date_ms, fact.product_type, fact.expires_date_ms,
               fact.revocation_date_ms, fact.revoked_signed_date_ms, fact.revoked_content_hash,
               fact.account_token, fact.app_transaction_id
        FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
        JOIN transactions AS fact USING (environment, original_transaction_id)
        """
    )

    private static let renewals = OwnershipRaising.renewals(
        """
        SELECT fact.original_transaction_id, fact.environment, fact.trust, fact.signed_date_ms,
               fact.content_hash, fact.account_token, fact.app_transaction_id
        FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
        JOIN renewals AS fact USING (environment, original_transaction_id)
        """
    )
}
