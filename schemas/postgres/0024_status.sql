-- Lists of what a user holds state whether it holds now, until when, and the status of a subscription.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Whether the customer has consented to a price increase: 0 or 1, as Apple signs it.
ALTER TABLE renewals ADD COLUMN price_increase_status integer;

-- The status of a subscription by its newest renewal info, in rows that follow from its newest period.
-- Rows of the version before have none until the next fact of their purchase, or `pipeline rebuild
-- --replace`.
ALTER TABLE entitlements
    ADD COLUMN will_renew boolean,
    -- The product of the next period; null if it is the present one.
    ADD COLUMN renews_to text COLLATE "C",
    ADD COLUMN is_in_billing_retry boolean,
    -- pending or consented.
    ADD COLUMN price_increase text COLLATE "C",
    -- The billing grace after that period.
    ADD COLUMN grace tstzrange;

-- As in entitlements; and after a transfer the user who had the entitlement before.
ALTER TABLE changes
    ADD COLUMN former_user_id text COLLATE "C",
    ADD COLUMN will_renew boolean,
    ADD COLUMN renews_to text COLLATE "C",
    ADD COLUMN is_in_billing_retry boolean,
    ADD COLUMN price_increase text COLLATE "C",
    ADD COLUMN grace tstzrange;

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
    active_until timestamptz,
    will_renew boolean,
    renews_to text,
    is_in_billing_retry boolean,
    price_increase text,
    grace tstzrange
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.environment, held.bundle_id, held.original_transaction_id, NULL::bigint,
        held.entitlement_key, held.periods, held.ownership_type, held.seats,
        held.additional_transaction_reason, held.periods @> now(), active_until(held.periods, now()),
        held.will_renew, held.renews_to, held.is_in_billing_retry, held.price_increase, held.grace
    FROM entitlements AS held WHERE held.user_id = held_entitlements.user_id
    UNION ALL
    SELECT held.environment, NULL, NULL, held.grant_id, held.entitlement_key, held.periods, NULL,
        NULL, NULL, held.periods @> now(), active_until(held.periods, now()), NULL, NULL, NULL, NULL, NULL
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
        owner.rule AS ownership_rule, active_until(held.periods, now()) AS active_until,
        held.price_increase
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

-- A grace begins where a period could not be renewed: access goes on, so it is no bound of the periods.
CREATE FUNCTION boundary_with_grace(periods tstzmultirange, grace tstzrange, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(boundary_after(periods, at), CASE WHEN lower(grace) > at THEN lower(grace) END);

-- As find_next_boundary, which grants keep.
CREATE FUNCTION find_next_boundary_with_grace() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    after CONSTANT timestamptz :=
        least(OLD.next_boundary - interval '1 microsecond', clock_timestamp());
BEGIN
    NEW.next_boundary := boundary_with_grace(NEW.periods, NEW.grace, after);
    NEW.is_noticed :=
        coalesce(OLD.is_noticed AND OLD.next_boundary = NEW.next_boundary, false);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER bounded BEFORE INSERT ON entitlements
    FOR EACH ROW EXECUTE FUNCTION find_next_boundary_with_grace();
CREATE OR REPLACE TRIGGER moved BEFORE UPDATE OF periods, grace ON entitlements
    FOR EACH ROW WHEN (OLD.periods <> NEW.periods OR OLD.grace IS DISTINCT FROM NEW.grace)
    EXECUTE FUNCTION find_next_boundary_with_grace();

REVOKE EXECUTE ON FUNCTION find_next_boundary_with_grace FROM PUBLIC;

-- As before, with the status of subscriptions, and the beginning of a grace.
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
                will_renew, renews_to, is_in_billing_retry, price_increase, grace, next_boundary, is_noticed
            FROM entitlements WHERE user_id = ANY (users)
            UNION ALL
            SELECT user_id, environment, NULL, NULL, grant_id, entitlement_key, periods, NULL, NULL,
                NULL, NULL, NULL, NULL, NULL, NULL, next_boundary, is_noticed
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
            additional_transaction_reason, will_renew, renews_to, is_in_billing_retry, price_increase, grace,
            cause, cause_id, event)
        SELECT happened.user_id,
            given.version - count(*) OVER (PARTITION BY happened.user_id) + happened.place,
            happened.environment, happened.bundle_id, happened.original_transaction_id,
            happened.grant_id, happened.entitlement_key, happened.periods, happened.periods,
            happened.ownership_type, happened.seats, happened.additional_transaction_reason,
            happened.will_renew, happened.renews_to, happened.is_in_billing_retry, happened.price_increase,
            happened.grace, 'time', instant_text(happened.at), happened.event
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
CREATE FUNCTION explained_status(
    will_renew boolean, renews_to text, is_in_billing_retry boolean, price_increase text, grace tstzrange
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(json_strip_nulls(json_build_object(
        'will_renew', will_renew, 'renews_to', renews_to, 'is_in_billing_retry', is_in_billing_retry,
        'price_increase', price_increase, 'grace', CASE WHEN grace IS NOT NULL THEN json_build_object(
            'start', instant_text(lower(grace)), 'end', instant_text(upper(grace))) END
    ))::text, '{}')::json;

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
        'status', explained_status(
            change.will_renew, change.renews_to, change.is_in_billing_retry, change.price_increase,
            change.grace),
        'cause', change.cause, 'cause_id', change.cause_id, 'event', change.event,
        'former_user_id', change.former_user_id,
        'catalog_version', change.catalog_version,
        'source', change.source_topic || '/' || change.source_partition || '/' || change.source_offset);

-- Purchases in the given order, and how many of their transactions and contents are not in the list.
-- Entitlements and credits are those of one user, of all users for null.
CREATE OR REPLACE FUNCTION explained_purchases(
    environment text, bundle_ids text[], original_transaction_ids text[], user_id text,
    at timestamptz, rows_max bigint,
    OUT purchases json, OUT transactions_left_out bigint, OUT sources_left_out bigint
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT given.bundle_id, given.original_transaction_id, given.place
        FROM unnest(bundle_ids, original_transaction_ids)
            WITH ORDINALITY AS given (bundle_id, original_transaction_id, place)
    ), facts AS MATERIALIZED (
        SELECT fact.*
        FROM asked
        JOIN transactions AS fact
            ON fact.original_transaction_id = asked.original_transaction_id
            AND fact.environment = explained_purchases.environment
            AND fact.bundle_id = asked.bundle_id
        ORDER BY fact.purchase_date_ms DESC, fact.transaction_id DESC, fact.track
        LIMIT rows_max
    ), explained AS MATERIALIZED (
        SELECT fact.bundle_id, fact.original_transaction_id, sum(origins.left_out)::bigint AS left_out,
            json_agg(json_build_object(
                'transaction_id', fact.transaction_id, 'track', fact.track,
                'product_id', fact.product_id, 'product_type', fact.product_type,
                'purchase_date', instant_text(timestamptz_from_ms(fact.purchase_date_ms)),
                'quantity', fact.quantity,
                'expires_date', instant_text(timestamptz_from_ms(fact.expires_date_ms)),
                'revocation', CASE WHEN fact.revocation_date_ms IS NOT NULL THEN json_build_object(
                    'date', instant_text(timestamptz_from_ms(fact.revocation_date_ms)),
                    'percentage', fact.revocation_percentage, 'reason', fact.revocation_reason,
                    'type', fact.revocation_type) END,
                'is_upgraded', fact.is_upgraded, 'ownership_type', fact.ownership_type,
                'subscription_group_id', fact.subscription_group_id,
                'web_order_line_item_id', fact.web_order_line_item_id,
                'transaction_reason', fact.transaction_reason,
                'additional_transaction_reason', fact.additional_transaction_reason,
                'revoked_seat_quantity', fact.revoked_seat_quantity,
                -- The token itself is the customer's.
                'has_account_token', fact.account_token IS NOT NULL,
                'app_transaction_id', fact.app_transaction_id,
                'items', explained_items(fact.items),
                'credits', coalesce(credited.list, '[]'), 'sources', coalesce(origins.list, '[]')
            ) ORDER BY fact.purchase_date_ms, fact.transaction_id, fact.track) AS list
        FROM (
            -- The credits of a transaction that came by two tracks stand at the first of them.
            SELECT facts.*, row_number() OVER (
                PARTITION BY facts.bundle_id, facts.original_transaction_id, facts.transaction_id
                ORDER BY facts.track) = 1 AS is_first
            FROM facts
        ) AS fact
        CROSS JOIN LATERAL (
            SELECT json_agg(json_build_object(
                'product_id', credit.product_id, 'currency', credit.currency,
                'user_id', credit.user_id, 'amount', credit.amount, 'taken_back', credit.taken_back,
                'revoked_at', instant_text(timestamptz_from_ms(credit.revocation_date_ms))
            ) ORDER BY credit.product_id, credit.currency) AS list
            FROM ledger AS credit
            WHERE fact.is_first AND credit.original_transaction_id = fact.original_transaction_id
                AND credit.environment = fact.environment AND credit.bundle_id = fact.bundle_id
                AND credit.transaction_id = fact.transaction_id
                AND (explained_purchases.user_id IS NULL
                    OR credit.user_id = explained_purchases.user_id)
        ) AS credited
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE known.place > 10) AS left_out,
                json_agg(explained_source(
                    known.source_topic, known.source_partition, known.source_offset,
                    known.signed_date_ms, known.recorded_at, known.notification_uuid, known.type,
                    known.subtype
                ) ORDER BY known.place DESC) FILTER (WHERE known.place <= 10) AS list
            FROM (
                SELECT revision.source_topic, revision.source_partition, revision.source_offset,
                    revision.signed_date_ms, revision.recorded_at, revision.notification_uuid,
                    came.type, came.subtype,
                    row_number() OVER (
                        ORDER BY revision.signed_date_ms DESC, revision.content_hash DESC) AS place
                FROM revisions AS revision
                LEFT JOIN notifications AS came
                    ON came.uuid = lower(revision.notification_uuid)
                    AND came.environment = revision.environment
                WHERE revision.id = fact.transaction_id AND revision.kind = 'transaction'
                    AND revision.environment = fact.environment
                    AND revision.bundle_id = fact.bundle_id AND revision.track = fact.track
            ) AS known
        ) AS origins
        GROUP BY fact.bundle_id, fact.original_transaction_id
    )
    SELECT
        coalesce(json_agg(json_build_object(
            'environment', explained_purchases.environment, 'bundle_id', asked.bundle_id,
            'original_transaction_id', asked.original_transaction_id,
            'owner_id', owner.user_id, 'owner_rule', coalesce(owner.rule, 'unlinked'),
            'owner_spans', coalesce(
                (
                    SELECT json_agg(json_build_object(
                        'user_id', span ->> 0,
                        'from', instant_text(timestamptz_from_ms((span ->> 1)::bigint))
                    ) ORDER BY span_place)
                    FROM json_array_elements(owner.spans) WITH ORDINALITY AS spans (span, span_place)
                ),
                CASE WHEN owner.user_id IS NULL THEN '[]' ELSE json_build_array(
                    json_build_object('user_id', owner.user_id, 'from', NULL)) END),
            'app_transaction_id', owner.app_transaction_id,
            'advice', CASE WHEN owner.user_id IS NULL THEN
                CASE WHEN EXISTS (
                    SELECT FROM transactions AS fact
                    WHERE fact.original_transaction_id = asked.original_transaction_id
                        AND fact.environment = explained_purchases.environment
                        AND fact.bundle_id = asked.bundle_id AND fact.account_token IS NOT NULL
                ) THEN 'nobody is linked to its account token: link that, or '
                ELSE 'it carries no account token: link ' END
                || 'its original_transaction_id ' || asked.original_transaction_id
                || coalesce(', or its app_transaction_id ' || owner.app_transaction_id, '') END,
            'entitlements', (
                SELECT coalesce(json_agg(json_build_object(
                    'user_id', held.user_id, 'entitlement', held.entitlement_key,
                    'is_active', held.periods @> explained_purchases.at,
                    'periods', explained_periods(held.periods),
                    'ownership_type', held.ownership_type, 'seats', held.seats,
                    'additional_transaction_reason', held.additional_transaction_reason,
                    'status', explained_status(
                        held.will_renew, held.renews_to, held.is_in_billing_retry, held.price_increase,
                        held.grace)
                ) ORDER BY held.entitlement_key, held.user_id), '[]')
                FROM entitlements AS held
                WHERE held.original_transaction_id = asked.original_transaction_id
                    AND held.environment = explained_purchases.environment
                    AND held.bundle_id = asked.bundle_id
                    AND (explained_purchases.user_id IS NULL
                        OR held.user_id = explained_purchases.user_id)
            ),
            'transactions', coalesce(explained.list, '[]'),
            'renewals', (
                SELECT coalesce(json_agg(json_build_object(
                    'product_id', renewal.product_id,
                    'auto_renew_product_id', renewal.auto_renew_product_id,
                    'auto_renew_status', renewal.auto_renew_status,
                    'is_in_billing_retry', renewal.is_in_billing_retry,
                    'price_increase_status', renewal.price_increase_status,
                    'expiration_intent', renewal.expiration_intent,
                    'renewal_date', instant_text(timestamptz_from_ms(renewal.renewal_date_ms)),
                    'grace_period_expires_date',
                        instant_text(timestamptz_from_ms(renewal.grace_period_expires_date_ms)),
                    'has_account_token', renewal.account_token IS NOT NULL,
                    'app_transaction_id', renewal.app_transaction_id,
                    -- Announced by the notification, and granting nothing.
                    'is_grace_without_end', renewal.grace_period_expires_date_ms IS NULL
                        AND coalesce(came.type = 'DID_FAIL_TO_RENEW'
                            AND came.subtype = 'GRACE_PERIOD', false),
                    'source', CASE WHEN revision.id IS NOT NULL THEN explained_source(
                        revision.source_topic, revision.source_partition, revision.source_offset,
                        revision.signed_date_ms, revision.recorded_at, revision.notification_uuid,
                        came.type, came.subtype) END
                ) ORDER BY renewal.trust), '[]')
                FROM renewals AS renewal
                LEFT JOIN revisions AS revision
                    ON revision.id = renewal.original_transaction_id AND revision.kind = 'renewal'
                    AND revision.environment = renewal.environment
                    AND revision.trust = renewal.trust
                    AND revision.content_hash = renewal.content_hash
                LEFT JOIN notifications AS came
                    ON came.uuid = lower(revision.notification_uuid)
                    AND came.environment = revision.environment
                WHERE renewal.original_transaction_id = asked.original_transaction_id
                    AND renewal.environment = explained_purchases.environment
            )
        ) ORDER BY asked.place), '[]'),
        (
            SELECT count(*) FROM asked
            JOIN transactions AS fact
                ON fact.original_transaction_id = asked.original_transaction_id
                AND fact.environment = explained_purchases.environment
                AND fact.bundle_id = asked.bundle_id
        ) - (SELECT count(*) FROM facts),
        coalesce(sum(explained.left_out)::bigint, 0)
    FROM asked
    LEFT JOIN explained
        ON explained.bundle_id = asked.bundle_id
        AND explained.original_transaction_id = asked.original_transaction_id
    LEFT JOIN owners AS owner
        ON owner.original_transaction_id = asked.original_transaction_id
        AND owner.environment = explained_purchases.environment
        AND owner.bundle_id = asked.bundle_id;
END;
