/// The SQL that raises ownership facts to what a query finds: they only ever rise.
enum OwnershipRaising {
    /// - Parameter query: its columns are those of the insertion, in their order.
    static func facts(_ query: String) -> String {
        """
        INSERT INTO ownership_facts AS known (
            original_transaction_id, transaction_id, environment, bundle_id, track,
            signed_date_ms, content_hash, trust, purchase_date_ms, product_type, expires_date_ms,
            revocation_date_ms, revoked_signed_date_ms, revoked_content_hash, account_token,
            app_transaction_id)
        \(query)
        ON CONFLICT (original_transaction_id, transaction_id, environment, bundle_id, track)
        DO UPDATE SET
            (signed_date_ms, content_hash, trust, product_type, expires_date_ms, account_token,
                app_transaction_id) = (
                SELECT * FROM (VALUES
                    (excluded.signed_date_ms, excluded.content_hash, excluded.trust,
                        excluded.product_type, excluded.expires_date_ms, excluded.account_token,
                        excluded.app_transaction_id),
                    (known.signed_date_ms, known.content_hash, known.trust, known.product_type,
                        known.expires_date_ms, known.account_token, known.app_transaction_id)
                ) AS newest (signed_date_ms, content_hash)
                ORDER BY signed_date_ms DESC, content_hash DESC LIMIT 1
            ),
            -- No receipt lifts what another took back.
            (revocation_date_ms, revoked_signed_date_ms, revoked_content_hash) = (
                SELECT date_ms, signed_date_ms, content_hash FROM (VALUES
                    (known.track = 'jws', excluded.revocation_date_ms,
                        excluded.revoked_signed_date_ms, excluded.revoked_content_hash),
                    (false, known.revocation_date_ms, known.revoked_signed_date_ms,
                        known.revoked_content_hash)
                ) AS newest (is_jws, date_ms, signed_date_ms, content_hash)
                ORDER BY is_jws DESC, signed_date_ms DESC NULLS LAST,
                    content_hash DESC NULLS LAST LIMIT 1
            )
        WHERE (excluded.signed_date_ms, excluded.content_hash)
                > (known.signed_date_ms, known.content_hash)
           OR known.revoked_signed_date_ms IS NULL
                AND excluded.revoked_signed_date_ms IS NOT NULL
           OR (excluded.revoked_signed_date_ms, excluded.revoked_content_hash)
                > (known.revoked_signed_date_ms, known.revoked_content_hash)
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
