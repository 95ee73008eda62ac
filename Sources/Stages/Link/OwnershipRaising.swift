/// The SQL that raises ownership facts to what a query finds: they only ever rise.
enum OwnershipRaising {
    /// - Parameter query: its columns are those of the insertion, in their order.
    static func facts(_ query: String) -> String {
        """
        INSERT INTO ownership_facts AS known (
            original_transaction_id, transaction_id, environment, bundle_id, track,
            signed_date_ms, content_hash, trust, purchase_date_ms, product_type, expires_date_ms,
            revocation_date_ms, account_token, app_transaction_id)
        \(query)
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
    }

    /// - Parameter query: its columns are those of the insertion, in their order.
    static func renewals(_ query: String) -> String {
        """
        INSERT INTO ownership_renewals AS known (
            original_transaction_id, environment, trust, signed_date_ms, content_hash,
            account_token, app_transaction_id)
        \(query)
        ON CONFLICT (original_transaction_id, environment, trust) DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id
        WHERE (excluded.signed_date_ms, excluded.content_hash)
            > (known.signed_date_ms, known.content_hash)
        """
    }
}
