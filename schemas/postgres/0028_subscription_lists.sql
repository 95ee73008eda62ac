-- Why a subscription ended is part of its status, and each list of what a user holds has whole subscriptions.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Apple's expirationIntent in a word, as the other columns of the status.
ALTER TABLE entitlements ADD COLUMN expiration_reason text COLLATE "C";
ALTER TABLE changes ADD COLUMN expiration_reason text COLLATE "C";

-- As before, with the reason.
CREATE OR REPLACE FUNCTION announce_boundaries_of(users text[], present timestamptz, notice interval)
RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    half CONSTANT integer := cardinality(users) / 2;
    row_count bigint;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT held.*, boundary_with_grace(held.periods, held.grace, present) AS later,
            coalesce(
                boundary_with_grace(held.periods, held.grace, present) <= present + nullif(notice, '0'),
                false) AS is_near
        FROM (
            SELECT user_id, environment, bundle_id, original_transaction_id, NULL::bigint AS grant_id,
                entitlement_key, periods, ownership_type, seats, additional_transaction_reason,
                will_renew, renews_to, is_in_billing_retry, price_increase, expiration_reason,
                grace, next_boundary, is_noticed
            FROM entitlements WHERE user_id = ANY (users)
            UNION ALL
            SELECT user_id, environment, NULL, NULL, grant_id, entitlement_key, periods, NULL, NULL,
                NULL, NULL, NULL, NULL, NULL, NULL, NULL, next_boundary, is_noticed
            FROM grants WHERE user_id = ANY (users)
        ) AS held
        WHERE held.next_boundary
            <= CASE WHEN held.is_noticed THEN present ELSE present + notice END
    ), looked_at AS (
        UPDATE entitlements AS known SET next_boundary = due.later, is_noticed = due.is_near
        FROM due
        WHERE known.original_transaction_id = due.original_transaction_id
            AND known.environment = due.environment AND known.bundle_id = due.bundle_id
            AND known.entitlement_key = due.entitlement_key AND known.user_id = due.user_id
    ), looked_at_grants AS (
        UPDATE grants AS known SET next_boundary = due.later, is_noticed = due.is_near
        FROM due WHERE known.grant_id = due.grant_id
    ), happened AS MATERIALIZED (
        SELECT due.*, boundary.at, boundary.event, row_number() OVER (
            PARTITION BY due.user_id
            ORDER BY boundary.at, due.environment, due.bundle_id, due.original_transaction_id,
                due.grant_id, due.entitlement_key) AS place
        FROM due
        CROSS JOIN LATERAL (
            SELECT bound.at, CASE WHEN due.periods @> bound.at THEN 'period_began'
                ELSE 'period_ended' END AS event
            FROM unnest(due.periods) AS span
            CROSS JOIN LATERAL (VALUES (lower(span)), (upper(span))) AS bound (at)
            WHERE bound.at BETWEEN due.next_boundary AND present
            UNION ALL
            SELECT lower(due.grace), 'grace_began'
            WHERE lower(due.grace) BETWEEN due.next_boundary AND present
            UNION ALL
            SELECT due.later, 'ends_soon' WHERE due.is_near AND NOT due.periods @> due.later
        ) AS boundary
    ), given AS (
        INSERT INTO user_versions AS known (user_id, version)
        SELECT happened.user_id, count(*) FROM happened GROUP BY happened.user_id
        ORDER BY happened.user_id
        ON CONFLICT (user_id) DO UPDATE SET version = known.version + excluded.version
        RETURNING known.user_id, known.version
    ), announced AS (
        INSERT INTO changes (
            user_id, version, environment, bundle_id, original_transaction_id, grant_id,
            entitlement_key, old_periods, new_periods, ownership_type, seats,
            additional_transaction_reason, will_renew, renews_to, is_in_billing_retry, price_increase,
            expiration_reason, grace, cause, cause_id, event)
        SELECT happened.user_id,
            given.version - count(*) OVER (PARTITION BY happened.user_id) + happened.place,
            happened.environment, happened.bundle_id, happened.original_transaction_id,
            happened.grant_id, happened.entitlement_key, happened.periods, happened.periods,
            happened.ownership_type, happened.seats, happened.additional_transaction_reason,
            happened.will_renew, happened.renews_to, happened.is_in_billing_retry, happened.price_increase,
            happened.expiration_reason, happened.grace, 'time', instant_text(happened.at), happened.event
        FROM happened JOIN given ON given.user_id = happened.user_id
    )
    SELECT count(*) INTO row_count FROM due;
    RETURN row_count;
EXCEPTION WHEN integrity_constraint_violation OR data_exception THEN
    IF half = 0 THEN
        RAISE DEBUG 'the boundaries of a user are not announced: %', SQLERRM;
        RETURN 0;
    END IF;
    RETURN announce_boundaries_of(users[:half], present, notice)
        + announce_boundaries_of(users[half + 1:], present, notice);
END
$$;

-- Null if nothing is known.
CREATE FUNCTION explained_subscription_status(
    will_renew boolean, renews_to text, is_in_billing_retry boolean, price_increase text, grace tstzrange,
    expiration_reason text
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(json_strip_nulls(json_build_object(
        'will_renew', will_renew, 'renews_to', renews_to, 'is_in_billing_retry', is_in_billing_retry,
        'price_increase', price_increase, 'expiration_reason', expiration_reason,
        'grace', CASE WHEN grace IS NOT NULL THEN json_build_object(
            'start', instant_text(lower(grace)), 'end', instant_text(upper(grace))) END
    ))::text, '{}')::json;

CREATE OR REPLACE FUNCTION explained_status(
    will_renew boolean, renews_to text, is_in_billing_retry boolean, price_increase text, grace tstzrange
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN explained_subscription_status(
        will_renew, renews_to, is_in_billing_retry, price_increase, grace, NULL);

CREATE OR REPLACE FUNCTION explained_change(change changes) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN json_build_object(
        'user_id', change.user_id, 'version', change.version,
        'changed_at', instant_text(change.changed_at),
        'entitlement', change.entitlement_key,
        'original_transaction_id', change.original_transaction_id,
        'old', explained_periods(change.old_periods),
        'new', explained_periods(change.new_periods),
        'ownership_type', change.ownership_type, 'seats', change.seats,
        'additional_transaction_reason', change.additional_transaction_reason,
        'status', explained_subscription_status(
            change.will_renew, change.renews_to, change.is_in_billing_retry, change.price_increase,
            change.grace, change.expiration_reason),
        'cause', change.cause, 'cause_id', change.cause_id, 'event', change.event,
        'former_user_id', change.former_user_id,
        'catalog_version', change.catalog_version,
        'source', change.source_topic || '/' || change.source_partition || '/' || change.source_offset);

CREATE OR REPLACE VIEW subscriptions AS
    SELECT
        user_id, environment, bundle_id, original_transaction_id, product_id, subscription_group_id, status,
        least(coalesce(grace_until, expires_at), revoked_at) AS active_until,
        is_renewing AND status IN ('active', 'in_grace', 'in_billing_retry', 'upgraded') AS will_renew,
        CASE WHEN is_renewing AND status IN ('active', 'in_grace', 'in_billing_retry', 'upgraded')
            THEN renews_to END AS renews_to,
        renews_at, expires_at, grace_until, revoked_at, expiration_reason, is_trial, offer_type, offer_id,
        offer_discount_type, offer_period, price, currency, price_increase, renewal_price, renewal_currency,
        renewal_offer_type, renewal_offer_id, renewal_offer_discount_type, renewal_offer_period,
        win_back_offer_ids, storefront, ownership_type, billing_plan, commitment, renewal_billing_plan,
        renewal_commitment, subscribed_since, original_purchase_date, purchased_at, transaction_id,
        previous_original_transaction_id
    FROM (
        SELECT
            -- The owner's key, so that a query by a purchase finds it by an index.
            owner.user_id, owner.environment, owner.bundle_id, owner.original_transaction_id,
            period.transaction_id, period.product_id, period.subscription_group_id, period.is_trial,
            period.offer_type, period.offer_id, period.offer_discount_type, period.offer_period, period.price,
            period.currency, period.storefront, period.ownership_type, period.billing_plan, period.commitment,
            period.original_purchase_date, period.previous_original_transaction_id,
            timestamptz_from_ms(period.purchase_date_ms) AS purchased_at,
            timestamptz_from_ms(period.expires_date_ms) AS expires_at,
            timestamptz_from_ms(ended.revocation_date_ms) AS revoked_at,
            timestamptz_from_ms(grace.end_ms) AS grace_until,
            CASE
                WHEN ended.revocation_date_ms IS NOT NULL THEN 'revoked'
                WHEN ended.is_upgraded THEN 'upgraded'
                WHEN timestamptz_from_ms(period.expires_date_ms) > now() THEN 'active'
                WHEN timestamptz_from_ms(grace.end_ms) > now() THEN 'in_grace'
                WHEN renewal.is_in_billing_retry THEN 'in_billing_retry'
                ELSE 'expired'
            END AS status,
            renewal.auto_renew_status = 1 AS is_renewing, renewal.auto_renew_product_id AS renews_to,
            timestamptz_from_ms(renewal.renewal_date_ms) AS renews_at,
            CASE renewal.expiration_intent
                WHEN 1 THEN 'cancelled' WHEN 2 THEN 'billing_error' WHEN 3 THEN 'price_increase_declined'
                WHEN 4 THEN 'product_unavailable' WHEN 5 THEN 'other' ELSE renewal.expiration_intent::text
            END AS expiration_reason,
            CASE payload_number(stated.payload, 'priceIncreaseStatus')
                WHEN 0 THEN 'pending' WHEN 1 THEN 'consented'
                ELSE payload_number(stated.payload, 'priceIncreaseStatus')::text
            END AS price_increase,
            payload_number(stated.payload, 'renewalPrice') AS renewal_price,
            stated.payload ->> 'currency' AS renewal_currency,
            offer_name(payload_number(stated.payload, 'offerType')) AS renewal_offer_type,
            stated.payload ->> 'offerIdentifier' AS renewal_offer_id,
            stated.payload ->> 'offerDiscountType' AS renewal_offer_discount_type,
            stated.payload ->> 'offerPeriod' AS renewal_offer_period,
            stated.payload -> 'eligibleWinBackOfferIds' AS win_back_offer_ids,
            stated.payload ->> 'renewalBillingPlanType' AS renewal_billing_plan,
            stated.payload -> 'commitmentInfo' AS renewal_commitment,
            payload_date(stated.payload, 'recentSubscriptionStartDate') AS subscribed_since
        FROM owners AS owner
        CROSS JOIN LATERAL (
            SELECT fact.transaction_id, fact.purchase_date_ms FROM transactions AS fact
            WHERE fact.original_transaction_id = owner.original_transaction_id
                AND fact.environment = owner.environment AND fact.bundle_id = owner.bundle_id
            -- Of several in one second the last that is not revoked, as in EntitlementTerms.
            ORDER BY fact.purchase_date_ms / 1000 DESC, fact.revocation_date_ms IS NOT NULL,
                fact.transaction_id DESC
            LIMIT 1
        ) AS newest
        JOIN merged_transactions AS period
            ON period.transaction_id = newest.transaction_id AND period.environment = owner.environment
            AND period.bundle_id = owner.bundle_id
        LEFT JOIN LATERAL (
            -- A newer renewal info withdraws no grace. One may be that of a later period, which is not known.
            SELECT span.end_ms, span.start_ms / 1000 > period.expires_date_ms / 1000 AS is_later
            FROM renewal_spans AS span
            WHERE span.original_transaction_id = owner.original_transaction_id
                AND span.environment = owner.environment AND span.trust = period.trust
                AND span.kind = 'grace' AND span.end_ms > period.expires_date_ms
                AND coalesce(span.start_ms, span.end_ms) > period.purchase_date_ms
            ORDER BY span.end_ms DESC
            LIMIT 1
        ) AS grace ON true
        CROSS JOIN LATERAL (
            -- What ends a copy of the period ends it; with added seats it ends with the last payment.
            SELECT bool_or(paid.is_upgraded) AS is_upgraded,
                CASE
                    WHEN grace.is_later THEN NULL
                    WHEN bool_and(paid.additional_transaction_reason IS NULL)
                    THEN min(paid.revocation_date_ms)
                    WHEN bool_and(paid.revocation_date_ms IS NOT NULL) THEN max(paid.revocation_date_ms)
                END AS revocation_date_ms
            FROM merged_transactions AS paid
            WHERE paid.original_transaction_id = owner.original_transaction_id
                AND paid.environment = owner.environment AND paid.bundle_id = owner.bundle_id
                -- No period is longer than a year.
                AND paid.purchase_date_ms >= newest.purchase_date_ms - 34560000000
                AND paid.product_id = period.product_id
                AND paid.ownership_type IS NOT DISTINCT FROM period.ownership_type
                AND paid.expires_date_ms / 1000 IS NOT DISTINCT FROM period.expires_date_ms / 1000
                AND (paid.purchase_date_ms / 1000 = period.purchase_date_ms / 1000
                    OR paid.web_order_line_item_id = period.web_order_line_item_id
                    OR coalesce(paid.additional_transaction_reason, period.additional_transaction_reason)
                        IS NOT NULL)
        ) AS ended
        LEFT JOIN renewals AS renewal
            ON renewal.original_transaction_id = owner.original_transaction_id
            AND renewal.environment = owner.environment AND renewal.trust = period.trust
        LEFT JOIN revisions AS stated
            ON stated.id = renewal.original_transaction_id AND stated.kind = 'renewal'
            AND stated.environment = renewal.environment AND stated.bundle_id = ''
            AND stated.trust = renewal.trust AND stated.track = 'jws'
            AND stated.content_hash = renewal.content_hash
        -- A receipt names no type of a product: there a period with an end is a subscription's.
        WHERE period.product_type = 'Auto-Renewable Subscription'
            OR (period.product_type IN ('Consumable', 'Non-Consumable', 'Non-Renewing Subscription')) IS NOT TRUE
                AND period.expires_date_ms IS NOT NULL
    ) AS known;

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
    active_until timestamptz,
    will_renew boolean,
    renews_to text,
    is_in_billing_retry boolean,
    price_increase text,
    grace tstzrange,
    expiration_reason text,
    subscription json
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.environment, held.bundle_id, held.original_transaction_id, NULL::bigint,
        held.entitlement_key, held.periods, held.ownership_type, held.seats,
        held.additional_transaction_reason, held.periods @> now(), active_until(held.periods, now()),
        held.will_renew, held.renews_to, held.is_in_billing_retry, held.price_increase, held.grace,
        held.expiration_reason, (
            SELECT json_strip_nulls(row_to_json(stated)) FROM subscriptions AS stated
            WHERE stated.original_transaction_id = held.original_transaction_id
                AND stated.environment = held.environment AND stated.bundle_id = held.bundle_id
        )
    FROM entitlements AS held WHERE held.user_id = held_entitlements.user_id
    UNION ALL
    SELECT held.environment, NULL, NULL, held.grant_id, held.entitlement_key, held.periods, NULL,
        NULL, NULL, held.periods @> now(), active_until(held.periods, now()), NULL, NULL, NULL, NULL, NULL,
        NULL, NULL
    FROM grants AS held
    WHERE held.user_id = held_entitlements.user_id AND NOT isempty(held.periods);
END;

COMMENT ON FUNCTION held_entitlements IS
    'All entitlements of a user, in every environment, bought and granted; ended ones too: only '
    'is_active gives access now. Also those that a record of the feed or an answer was too small for. '
    'subscription is the purchase''s row of subscriptions, without nulls; a query that leaves it out does not '
    'pay for it.';

-- BEFORE INSERT also fires for a row that is then updated, for which a boundary was found and thrown away. The
-- programs that know the row give an instant of their own instead of the column's default.
CREATE OR REPLACE TRIGGER bounded BEFORE INSERT ON entitlements
    FOR EACH ROW WHEN (NEW.next_boundary = now()) EXECUTE FUNCTION find_next_boundary_with_grace();
