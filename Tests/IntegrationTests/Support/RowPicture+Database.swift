import Postgres

/// The columns stand in the order of `RowPicture.init(_:_:)` of a fold.
extension RowPicture {
    /// What the tables hold.
    init(_ connection: PostgresConnection) async throws {
        for (table, columns) in Self.queries {
            let rows = try await connection.query("SELECT ARRAY[\(columns)] FROM \(table)")
            for row in rows {
                add(table, row.textArray(0))
            }
        }
    }

    private static let purchase = "environment, bundle_id, original_transaction_id"

    private static let queries = [
        "transactions": """
        environment, bundle_id, transaction_id, track, signed_date_ms::text,
        encode(content_hash, 'hex'), trust, original_transaction_id, product_id,
        purchase_date_ms::text, product_type, quantity::text, expires_date_ms::text,
        revocation_date_ms::text, revoked_signed_date_ms::text, is_upgraded::text,
        is_family_shared::text,
        subscription_group_id, account_token, app_transaction_id
        """,
        "renewals": """
        environment, original_transaction_id, trust, signed_date_ms::text,
        encode(content_hash, 'hex'), product_id, auto_renew_product_id, auto_renew_status::text,
        is_in_billing_retry::text, expiration_intent::text, renewal_date_ms::text,
        grace_period_expires_date_ms::text, account_token, app_transaction_id
        """,
        "grace_periods": """
        environment, original_transaction_id, trust, expires_date_ms::text, renewal_date_ms::text
        """,
        "owners": "\(purchase), user_id, rule, spans::text",
        "entitlements": """
        \(purchase), entitlement_key, user_id, (
            SELECT string_agg(
                (extract(epoch FROM lower(span)) * 1000)::int8 || '-'
                    || coalesce(((extract(epoch FROM upper(span)) * 1000)::int8)::text, ''),
                ' ' ORDER BY lower(span)
            )
            FROM unnest(periods) AS span
        )
        """,
        "ledger": """
        \(purchase), transaction_id, currency, product_id, user_id, amount::text,
        taken_back::text, purchase_date_ms::text, revocation_date_ms::text
        """,
    ]
}
