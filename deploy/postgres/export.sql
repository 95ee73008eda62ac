-- Writes what is yours into CSV files in the present folder: for another system, a warehouse, an audit.
--
--   umask 077 && psql --no-psqlrc --file deploy/postgres/export.sql "$DATABASE_URL"
--
-- Run it as the owner of the tables. All files are of one moment, and times are UTC. Columns of transactions.csv
-- and entitlements.csv have the names of RevenueCat's scheduled data exports where those have one. The
-- files hold account tokens and all that Apple signed: protect them like a backup.
--
--   transactions.csv    one row for each transaction, with the user whose it was at its purchase
--   entitlements.csv    who may use what, and when
--   grants.csv          what people granted
--   ledger.csv          credits, refunds, debits and adjustments
--   account_links.csv   which user a token or ID is, for `pipeline link add --from`
--   app_downloads.csv   what each Apple Account downloaded first
--   changes.csv         the history of entitlements
--   payloads.csv        every content that Apple signed, without its signature
--   catalogs.csv        every catalog that was applied

\set ON_ERROR_STOP on
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL TimeZone = 'UTC';

COPY (
    WITH catalog AS (
        SELECT content -> 'products' AS products FROM catalog_versions ORDER BY version DESC LIMIT 1
    )
    SELECT
        coalesce(former.user_id, owner.user_id) AS rc_original_app_user_id,
        owner.user_id AS rc_last_seen_app_user_id_alias,
        fact.product_id AS product_identifier,
        timestamptz_from_ms(fact.purchase_date_ms) AT TIME ZONE 'UTC' AS start_time,
        timestamptz_from_ms(fact.expires_date_ms) AT TIME ZONE 'UTC' AS end_time,
        timestamptz_from_ms(grace.end_ms) AT TIME ZONE 'UTC' AS grace_period_end_time,
        timestamptz_from_ms(greatest(fact.expires_date_ms, grace.end_ms)) AT TIME ZONE 'UTC'
            AS effective_end_time,
        'app_store' AS store,
        fact.product_type = 'Auto-Renewable Subscription' AS is_auto_renewable,
        signed.payload ->> 'offerDiscountType' IS NOT DISTINCT FROM 'FREE_TRIAL' AS is_trial_period,
        fact.environment <> 'Production' AS is_sandbox,
        fact.transaction_id AS store_transaction_id,
        fact.original_transaction_id AS original_store_transaction_id,
        timestamptz_from_ms(coalesce(fact.revocation_date_ms, receipt.revocation_date_ms))
            AT TIME ZONE 'UTC' AS refunded_at,
        signed.payload ->> 'currency' AS purchased_currency,
        trim_scale((signed.payload ->> 'price')::numeric / 1000) AS price_in_purchased_currency,
        CASE WHEN fact.product_type = 'Consumable' THEN '[]'
            ELSE coalesce(catalog.products -> fact.product_id -> 'entitlements',
                json_build_array(fact.product_id)) END AS entitlement_identifiers,
        fact.ownership_type, fact.quantity, fact.environment, fact.bundle_id, fact.account_token,
        fact.app_transaction_id, fact.web_order_line_item_id
    FROM (
        SELECT DISTINCT ON (transaction_id, environment, bundle_id) * FROM transactions
        ORDER BY transaction_id, environment, bundle_id, track
    ) AS fact
    LEFT JOIN catalog ON true
    -- A receipt adds a revocation unless the JWS is newer.
    LEFT JOIN transactions AS receipt ON receipt.track = 'receipt'
        AND (receipt.transaction_id, receipt.environment, receipt.bundle_id)
            = (fact.transaction_id, fact.environment, fact.bundle_id)
        AND receipt.revoked_signed_date_ms > fact.signed_date_ms
    LEFT JOIN owners AS owner
        ON (owner.original_transaction_id, owner.environment, owner.bundle_id)
            = (fact.original_transaction_id, fact.environment, fact.bundle_id)
    LEFT JOIN LATERAL (
        SELECT span ->> 0 AS user_id
        FROM json_array_elements(owner.spans) WITH ORDINALITY AS spans (span, number)
        WHERE coalesce((span ->> 1)::bigint <= fact.purchase_date_ms, true)
        ORDER BY number DESC LIMIT 1
    ) AS former ON true
    LEFT JOIN LATERAL (
        SELECT max(end_ms) AS end_ms FROM renewal_spans AS span
        WHERE span.kind = 'grace' AND span.start_ms = fact.expires_date_ms
            AND (span.original_transaction_id, span.environment, span.trust)
                = (fact.original_transaction_id, fact.environment, fact.trust)
    ) AS grace ON true
    LEFT JOIN revisions AS signed ON signed.kind = 'transaction'
        AND (signed.id, signed.environment, signed.bundle_id, signed.track, signed.content_hash)
            = (fact.transaction_id, fact.environment, fact.bundle_id, fact.track, fact.content_hash)
        -- PostgreSQL reads no member of a payload with an escape that it cannot store.
        AND strpos(signed.payload::text, '\u') = 0
    ORDER BY fact.purchase_date_ms, fact.transaction_id
) TO STDOUT (FORMAT csv, HEADER) \g transactions.csv

COPY (
    SELECT user_id AS app_user_id, entitlement_key AS entitlement_identifier,
        lower(span) AT TIME ZONE 'UTC' AS start_time, upper(span) AT TIME ZONE 'UTC' AS end_time,
        original_transaction_id AS original_store_transaction_id, ownership_type, seats,
        additional_transaction_reason, environment, bundle_id
    FROM entitlements CROSS JOIN LATERAL unnest(periods) AS span ORDER BY 1, 2, 3
) TO STDOUT (FORMAT csv, HEADER) \g entitlements.csv

COPY grants TO STDOUT (FORMAT csv, HEADER) \g grants.csv
COPY (SELECT * FROM ledger_history) TO STDOUT (FORMAT csv, HEADER) \g ledger.csv
COPY account_links (kind, key, user_id, environment, bundle_id) TO STDOUT (FORMAT csv, HEADER) \g account_links.csv
COPY app_downloads TO STDOUT (FORMAT csv, HEADER) \g app_downloads.csv
COPY changes TO STDOUT (FORMAT csv, HEADER) \g changes.csv
COPY revisions TO STDOUT (FORMAT csv, HEADER) \g payloads.csv
COPY catalog_versions TO STDOUT (FORMAT csv, HEADER) \g catalogs.csv

COMMIT;
