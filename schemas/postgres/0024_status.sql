-- Lists of what a user holds state whether it holds now, and until when.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The end of the period that contains an instant; null without an end, and without such a period.
CREATE FUNCTION active_until(periods tstzmultirange, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT upper(span) FROM unnest(periods) AS span WHERE span @> at);

-- The calls of the version before go on: columns are added at the end.
-- Contracts: held_entitlements(user_id
DROP FUNCTION held_entitlements(text);

CREATE FUNCTION held_entitlements(user_id text)
RETURNS TABLE (
    environment text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    entitlement_key text,
    periods tstzmultirange,
    ownership_type text,
    seats bigint,
    additional_transaction_reason text,
    is_active boolean,
    active_until timestamptz
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.environment, held.bundle_id, held.original_transaction_id, NULL::bigint,
        held.entitlement_key, held.periods, held.ownership_type, held.seats,
        held.additional_transaction_reason, held.periods @> now(), active_until(held.periods, now())
    FROM entitlements AS held WHERE held.user_id = held_entitlements.user_id
    UNION ALL
    SELECT held.environment, NULL, NULL, held.grant_id, held.entitlement_key, held.periods, NULL,
        NULL, NULL, held.periods @> now(), active_until(held.periods, now())
    FROM grants AS held
    WHERE held.user_id = held_entitlements.user_id AND NOT isempty(held.periods);
END;

COMMENT ON FUNCTION held_entitlements IS
    'All entitlements of a user, in every environment, bought and granted; ended ones too: only '
    'is_active gives access now. Also those that a record of the feed or an answer was too small for.';

CREATE OR REPLACE VIEW entitlement_details AS
    SELECT
        held.user_id, held.entitlement_key, held.environment, held.bundle_id,
        held.original_transaction_id, held.periods,
        held.periods @> now() AS is_active,
        newest.transaction_id, newest.product_id, newest.product_type,
        timestamptz_from_ms(newest.purchase_date_ms) AS purchased_at,
        timestamptz_from_ms(newest.expires_date_ms) AS expires_at,
        timestamptz_from_ms(newest.revocation_date_ms) AS revoked_at,
        newest.is_upgraded, held.ownership_type, held.seats, held.additional_transaction_reason,
        renewal.auto_renew_status = 1 AS is_auto_renewing,
        renewal.auto_renew_product_id, renewal.is_in_billing_retry, renewal.expiration_intent,
        timestamptz_from_ms(renewal.grace_period_expires_date_ms) AS grace_expires_at,
        timestamptz_from_ms(renewal.grace_period_expires_date_ms) > now() AS is_in_grace,
        owner.rule AS ownership_rule, active_until(held.periods, now()) AS active_until
    FROM entitlements AS held
    LEFT JOIN LATERAL (
        SELECT * FROM transactions AS fact
        WHERE fact.environment = held.environment AND fact.bundle_id = held.bundle_id
            AND fact.original_transaction_id = held.original_transaction_id
        ORDER BY fact.purchase_date_ms DESC, fact.transaction_id DESC, fact.track
        LIMIT 1
    ) AS newest ON true
    LEFT JOIN renewals AS renewal
        ON renewal.environment = held.environment
        AND renewal.original_transaction_id = held.original_transaction_id
        AND renewal.trust = newest.trust
    LEFT JOIN owners AS owner
        ON owner.environment = held.environment AND owner.bundle_id = held.bundle_id
        AND owner.original_transaction_id = held.original_transaction_id;
