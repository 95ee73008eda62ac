-- What a person is shown about a user, a purchase or the data about a user, as one JSON answer each:
-- the tools render it, and so may a company's own. Member names and meanings stay; members are added.
--
-- An answer is bounded: each of its lists holds at most rows_max rows, the newest, and left_out counts
-- the others. Texts are compared by the columns' collation, "C": byte by byte.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- ISO 8601 in UTC with milliseconds; null for null.
CREATE FUNCTION instant_text(at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A list may be empty, and is never unbounded.
CREATE FUNCTION rows_bounded(rows_max bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(least(coalesce(rows_max, 1000), 1000000), 0);

-- Half-open periods in their order; an open end is null.
CREATE FUNCTION explained_periods(periods tstzmultirange) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(
        json_agg(json_build_object(
            'start', instant_text(lower(span)), 'end', instant_text(upper(span))) ORDER BY span),
        '[]')
    FROM unnest(periods) AS span;
END;

-- The first origin of a content: the raw record, and its notification.
CREATE FUNCTION explained_source(
    topic text, partition integer, record_offset bigint, signed_date_ms bigint,
    recorded_at timestamptz, notification_uuid text, type text, subtype text
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN json_build_object(
        'record', topic || '/' || partition || '/' || record_offset,
        'signed_at', instant_text(timestamptz_from_ms(signed_date_ms)),
        'recorded_at', instant_text(recorded_at),
        'notification', type || coalesce('/' || subtype, ''),
        'notification_uuid', notification_uuid);

CREATE FUNCTION explained_change(change changes) RETURNS json
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
        'cause', change.cause, 'cause_id', change.cause_id,
        'catalog_version', change.catalog_version,
        'source', change.source_topic || '/' || change.source_partition || '/' || change.source_offset);

-- The items of an Advanced Commerce purchase, as entitle-worker stores them.
CREATE FUNCTION explained_items(items json) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(
        json_agg(json_build_object(
            'sku', item ->> 'SKU',
            'revocation_date',
                instant_text(timestamptz_from_ms((item ->> 'revocationDate')::bigint)),
            'refund_date',
                instant_text(timestamptz_from_ms((item #>> '{refunds,0,refundDate}')::bigint)),
            'refund_amount', (item #>> '{refunds,0,refundAmount}')::bigint,
            'price', (item ->> 'price')::bigint) ORDER BY place),
        '[]')
    FROM json_array_elements(items) WITH ORDINALITY AS listed (item, place);
END;

-- Purchases in the given order, and how many of their transactions and contents are not in the list.
-- Entitlements and credits are those of one user, of all users for null.
CREATE FUNCTION explained_purchases(
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
                    'additional_transaction_reason', held.additional_transaction_reason
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

-- The members that are not zero; null if all are.
CREATE FUNCTION explained_rest(
    purchases bigint, transactions bigint, sources bigint, grants bigint, debits bigint, changes bigint
) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN nullif(json_strip_nulls(json_build_object(
        'purchases', nullif(purchases, 0), 'transactions', nullif(transactions, 0),
        'sources', nullif(sources, 0), 'grants', nullif(grants, 0), 'debits', nullif(debits, 0),
        'changes', nullif(changes, 0)))::text, '{}')::json;

CREATE FUNCTION explained_as_known(
    user_id text, environment text, known_at timestamptz, at timestamptz, rows_max bigint
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH known AS MATERIALIZED (
        SELECT state.*, row_number() OVER (ORDER BY state.version DESC) AS place
        FROM entitlements_as_known(user_id, known_at, environment) AS state
    )
    SELECT json_build_object(
        'user_id', user_id, 'environment', environment, 'known_at', instant_text(known_at),
        'at', instant_text(at),
        'entitlements', coalesce(json_agg(json_build_object(
            'entitlement', known.entitlement_key, 'is_active', known.periods @> at,
            'bundle_id', known.bundle_id,
            'original_transaction_id', known.original_transaction_id, 'grant_id', known.grant_id,
            'periods', explained_periods(known.periods), 'version', known.version,
            'changed_at', instant_text(known.changed_at)
        ) ORDER BY known.entitlement_key, known.version) FILTER (WHERE known.place <= rows_max), '[]'),
        'left_out', CASE WHEN count(*) > rows_max
            THEN json_build_object('entitlements', count(*) - rows_max) END)
    FROM known;
END;

CREATE FUNCTION explained_now(user_id text, environment text, at timestamptz, rows_max bigint)
    RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH theirs AS MATERIALIZED (
        SELECT known.environment, known.bundle_id, known.original_transaction_id,
            row_number() OVER (
                PARTITION BY known.environment
                ORDER BY max(known.until) DESC, known.original_transaction_id, known.bundle_id
            ) AS place
        FROM (
            SELECT held.environment, held.bundle_id, held.original_transaction_id,
                coalesce(upper(held.periods), 'infinity') AS until
            FROM entitlements AS held WHERE held.user_id = explained_now.user_id
            UNION ALL
            SELECT change.environment, change.bundle_id, change.original_transaction_id,
                change.changed_at
            FROM changes AS change
            WHERE change.user_id = explained_now.user_id AND change.grant_id IS NULL
            UNION ALL
            SELECT credit.environment, credit.bundle_id, credit.original_transaction_id,
                timestamptz_from_ms(credit.purchase_date_ms)
            FROM ledger AS credit WHERE credit.user_id = explained_now.user_id
        ) AS known
        GROUP BY known.environment, known.bundle_id, known.original_transaction_id
    ), given AS MATERIALIZED (
        SELECT granted.*, row_number() OVER (ORDER BY granted.grant_id DESC) AS place
        FROM grants AS granted
        WHERE granted.user_id = explained_now.user_id
            AND granted.environment = explained_now.environment
    ), spent AS MATERIALIZED (
        SELECT debit.*, row_number() OVER (ORDER BY debit.debited_at DESC, debit.reference DESC) AS place
        FROM ledger_debits AS debit
        WHERE debit.user_id = explained_now.user_id
            AND debit.environment = explained_now.environment
    ), history AS MATERIALIZED (
        SELECT change, row_number() OVER (ORDER BY change.version DESC) AS place
        FROM changes AS change
        WHERE change.user_id = explained_now.user_id
            AND change.environment = explained_now.environment
    )
    SELECT json_build_object(
        'user_id', user_id, 'environment', environment, 'at', instant_text(at),
        'version', (SELECT given.version FROM user_versions AS given
            WHERE given.user_id = explained_now.user_id),
        'catalog_version', (SELECT max(catalog.version) FROM catalog_versions AS catalog),
        'other_environments', (
            SELECT coalesce(json_agg(json_build_object(
                'environment', others.environment, 'purchases', others.purchases,
                'grants', others.grants) ORDER BY others.environment), '[]')
            FROM (
                SELECT held.environment, sum(held.purchases)::bigint AS purchases,
                    sum(held.grants)::bigint AS grants
                FROM (
                    SELECT theirs.environment, 1 AS purchases, 0 AS grants FROM theirs
                    UNION ALL
                    SELECT granted.environment, 0, 1 FROM grants AS granted
                    WHERE granted.user_id = explained_now.user_id
                ) AS held
                WHERE held.environment <> explained_now.environment
                GROUP BY held.environment
            ) AS others
        ),
        'purchases', explained.purchases,
        'grants', (
            SELECT coalesce(json_agg(json_build_object(
                'grant_id', given.grant_id, 'entitlement', given.entitlement_key,
                'is_active', given.periods @> at, 'periods', explained_periods(given.periods),
                'granted_by', given.granted_by, 'reason', given.reason,
                'revoked_by', given.revoked_by, 'revocation_reason', given.revocation_reason
            ) ORDER BY given.grant_id), '[]')
            FROM given WHERE given.place <= rows_max
        ),
        'balances', (
            SELECT coalesce(json_agg(json_build_object(
                'currency', held.currency,
                'amount', ledger_balance(user_id, held.currency, environment)
            ) ORDER BY held.currency), '[]')
            FROM (
                SELECT credit.currency FROM ledger AS credit
                WHERE credit.user_id = explained_now.user_id
                    AND credit.environment = explained_now.environment
                UNION
                SELECT spent.currency FROM spent
            ) AS held
        ),
        'debits', (
            SELECT coalesce(json_agg(json_build_object(
                'reference', spent.reference, 'currency', spent.currency, 'amount', spent.amount,
                'debited_at', instant_text(spent.debited_at)
            ) ORDER BY spent.place DESC), '[]')
            FROM spent WHERE spent.place <= rows_max
        ),
        'changes', (
            SELECT coalesce(json_agg(explained_change(history.change) ORDER BY history.place DESC), '[]')
            FROM history WHERE history.place <= rows_max
        ),
        'left_out', explained_rest(
            greatest(coalesce(cardinality(shown.ids_of_all), 0) - rows_max, 0),
            explained.transactions_left_out, explained.sources_left_out,
            (SELECT count(*) FROM given WHERE given.place > rows_max),
            (SELECT count(*) FROM spent WHERE spent.place > rows_max),
            (SELECT count(*) FROM history WHERE history.place > rows_max)))
    FROM (
        SELECT array_agg(theirs.bundle_id ORDER BY theirs.place)
                FILTER (WHERE theirs.place <= rows_max) AS bundle_ids,
            array_agg(theirs.original_transaction_id ORDER BY theirs.place)
                FILTER (WHERE theirs.place <= rows_max) AS ids,
            array_agg(theirs.original_transaction_id) AS ids_of_all
        FROM theirs WHERE theirs.environment = explained_now.environment
    ) AS shown
    CROSS JOIN LATERAL explained_purchases(
        environment, shown.bundle_ids, shown.ids, user_id, at, rows_max) AS explained;
END;

CREATE FUNCTION explain_user(
    user_id text,
    environment text DEFAULT 'Production',
    known_at timestamptz DEFAULT NULL,
    at timestamptz DEFAULT now(),
    rows_max bigint DEFAULT 1000
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT
BEGIN ATOMIC
    SELECT CASE WHEN known_at IS NULL
        THEN explained_now(user_id, environment, at, rows_bounded(rows_max))
        ELSE explained_as_known(user_id, environment, known_at, at, rows_bounded(rows_max)) END
    WHERE require_environment(environment);
END;

COMMENT ON FUNCTION explain_user IS
    'What a user may use and why, for support: purchases with owner, transactions and the records '
    'that brought them, grants, balances, changes. With known_at only the entitlements as known then. '
    'is_active answers for the instant at. A list holds the newest rows_max; left_out counts the rest.';

CREATE FUNCTION explain_transaction(
    transaction_id text,
    environment text DEFAULT 'Production',
    at timestamptz DEFAULT now(),
    rows_max bigint DEFAULT 1000
) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT
BEGIN ATOMIC
    WITH found AS MATERIALIZED (
        SELECT fact.bundle_id, fact.original_transaction_id FROM transactions AS fact
        WHERE fact.transaction_id = explain_transaction.transaction_id
            AND fact.environment = explain_transaction.environment
        UNION
        SELECT fact.bundle_id, fact.original_transaction_id FROM transactions AS fact
        WHERE fact.original_transaction_id = explain_transaction.transaction_id
            AND fact.environment = explain_transaction.environment
        ORDER BY bundle_id, original_transaction_id
        LIMIT rows_bounded(rows_max)
    ), concerned AS (
        -- The history is kept by user: of the present owners and those before a transfer.
        SELECT held.user_id, held.bundle_id, held.original_transaction_id
        FROM found JOIN entitlements AS held
            ON held.original_transaction_id = found.original_transaction_id
            AND held.environment = explain_transaction.environment
            AND held.bundle_id = found.bundle_id
        UNION
        SELECT credit.user_id, credit.bundle_id, credit.original_transaction_id
        FROM found JOIN ledger AS credit
            ON credit.original_transaction_id = found.original_transaction_id
            AND credit.environment = explain_transaction.environment
            AND credit.bundle_id = found.bundle_id
        UNION
        SELECT coalesce(span ->> 0, owner.user_id), owner.bundle_id, owner.original_transaction_id
        FROM found JOIN owners AS owner
            ON owner.original_transaction_id = found.original_transaction_id
            AND owner.environment = explain_transaction.environment
            AND owner.bundle_id = found.bundle_id
        LEFT JOIN LATERAL json_array_elements(owner.spans) AS span ON true
    ), history AS MATERIALIZED (
        SELECT change, row_number() OVER (
            ORDER BY change.changed_at DESC, change.user_id DESC, change.version DESC) AS place
        FROM concerned
        JOIN changes AS change
            ON change.user_id = concerned.user_id AND change.bundle_id = concerned.bundle_id
            AND change.original_transaction_id = concerned.original_transaction_id
            AND change.environment = explain_transaction.environment
    )
    SELECT json_build_object(
        'transaction_id', transaction_id, 'environment', environment, 'at', instant_text(at),
        'catalog_version', (SELECT max(catalog.version) FROM catalog_versions AS catalog),
        'purchases', explained.purchases,
        'changes', (
            SELECT coalesce(json_agg(explained_change(history.change)
                ORDER BY (history.change).user_id, (history.change).version), '[]')
            FROM history WHERE history.place <= rows_bounded(rows_max)
        ),
        'left_out', explained_rest(0, explained.transactions_left_out, explained.sources_left_out, 0,
            0, (SELECT count(*) FROM history WHERE history.place > rows_bounded(rows_max))))
    FROM (
        SELECT array_agg(found.bundle_id ORDER BY found.bundle_id, found.original_transaction_id)
                AS bundle_ids,
            array_agg(found.original_transaction_id
                ORDER BY found.bundle_id, found.original_transaction_id) AS ids
        FROM found
    ) AS shown
    CROSS JOIN LATERAL explained_purchases(
        environment, shown.bundle_ids, shown.ids, NULL, at, rows_bounded(rows_max)) AS explained
    WHERE require_environment(environment);
END;

COMMENT ON FUNCTION explain_transaction IS
    'The purchase of a transaction ID, also one without an owner, with the rows and changes of all '
    'its users; several if apps share the ID. Otherwise as explain_user.';

CREATE FUNCTION stored_about_user(user_id text, rows_max bigint DEFAULT 100) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT
BEGIN ATOMIC
    WITH counted (place, "table", what, afterwards, rows) AS MATERIALIZED (
        SELECT 1, 'account_links', 'links to purchases', 'removed by forget', count(*)
        FROM account_links AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 2, 'ownership_claims', 'purchases that the ingestion service named the user for',
            'removed by forget', count(*)
        FROM ownership_claims AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 3, 'ownership_facts', 'transactions whose account token is the user''s ID',
            'token removed by forget, where tokens are user IDs', count(*)
        FROM ownership_facts AS kept WHERE kept.account_token = lower(stored_about_user.user_id)
        UNION ALL
        SELECT 4, 'ownership_renewals', 'renewal infos whose account token is the user''s ID',
            'token removed by forget, where tokens are user IDs', count(*)
        FROM ownership_renewals AS kept WHERE kept.account_token = lower(stored_about_user.user_id)
        UNION ALL
        SELECT 5, 'owners', 'purchases that are the user''s now',
            'pass to another user, or to nobody, after forget', count(*)
        FROM owners AS kept
        WHERE kept.user_id = stored_about_user.user_id AND kept.original_transaction_id IN (
            SELECT held.original_transaction_id FROM entitlements AS held
            WHERE held.user_id = stored_about_user.user_id
            UNION ALL
            SELECT credit.original_transaction_id FROM ledger AS credit
            WHERE credit.user_id = stored_about_user.user_id)
        UNION ALL
        SELECT 6, 'entitlements', 'what the user may use, and could', 'follow the purchases'' owners',
            count(*)
        FROM entitlements AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 7, 'stacked_purchases', 'non-renewing purchases that extend each other',
            'follow the purchases'' owners', count(*)
        FROM stacked_purchases AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 8, 'grants', 'entitlements that a person granted',
            'kept; end them with ''pipeline revoke-grant''', count(*)
        FROM grants AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 9, 'ledger', 'credits of consumables', 'follow the purchases'' owners', count(*)
        FROM ledger AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 10, 'ledger_debits', 'spent credits', 'kept for the accounts', count(*)
        FROM ledger_debits AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 11, 'changes', 'the history of what the user could use', 'kept for the accounts', count(*)
        FROM changes AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 12, 'unpublished_changes', 'changes that are not published yet',
            'removed within seconds, by entitle-worker', count(*)
        FROM unpublished_changes AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 13, 'user_versions', 'the number of the last change', 'kept for the accounts', count(*)
        FROM user_versions AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 14, 'feed_repetitions', 'a state that is published once more',
            'removed within minutes, by entitle-worker', count(*)
        FROM feed_repetitions AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 15, 'dead_letters', 'refused records that name a purchase of the user',
            'kept as long as the topic; see ''dead-letter redact''', count(*)
        FROM dead_letters AS kept
        WHERE EXISTS (
            SELECT FROM entitlements AS held
            WHERE held.user_id = stored_about_user.user_id
                AND held.original_transaction_id = kept.original_transaction_id)
        UNION ALL
        SELECT 16, 'forgotten_users', 'times the user was forgotten', 'kept; holds a hash of the ID',
            count(*)
        FROM forgotten_users AS kept
        WHERE kept.user_sha256 = sha256(convert_to(stored_about_user.user_id, 'UTF8'))
    ), named (by, key, environment, bundle_id) AS MATERIALIZED (
        SELECT 'link ' || link.kind, link.key, link.environment, link.bundle_id
        FROM account_links AS link WHERE link.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 'claim', claim.transaction_id, claim.environment, claim.bundle_id
        FROM ownership_claims AS claim WHERE claim.user_id = stored_about_user.user_id
        UNION ALL
        SELECT DISTINCT 'purchase', held.original_transaction_id, held.environment, held.bundle_id
        FROM entitlements AS held WHERE held.user_id = stored_about_user.user_id
    )
    SELECT json_build_object(
        'user_id', user_id,
        'tables', (
            SELECT coalesce(json_agg(json_build_object(
                'table', counted."table", 'rows', counted.rows, 'what', counted.what,
                'afterwards', counted.afterwards) ORDER BY counted.place), '[]')
            FROM counted WHERE counted.rows > 0
        ),
        'empty_tables', (
            SELECT coalesce(json_agg(counted."table" ORDER BY counted.place), '[]')
            FROM counted WHERE counted.rows = 0
        ),
        'identifiers', (
            SELECT coalesce(json_agg(json_build_object(
                'by', shown.by, 'key', shown.key,
                'environment', nullif(shown.environment, ''),
                'bundle_id', nullif(shown.bundle_id, '')
            ) ORDER BY shown.by, shown.key, shown.environment, shown.bundle_id), '[]')
            FROM (
                SELECT named.*, row_number() OVER (
                    PARTITION BY split_part(named.by, ' ', 1)
                    ORDER BY named.by, named.key, named.environment, named.bundle_id) AS place
                FROM named
            ) AS shown
            WHERE shown.place <= rows_bounded(rows_max)
        ),
        'left_out', (
            SELECT CASE WHEN sum(kinds.rest) > 0
                THEN json_build_object('identifiers', sum(kinds.rest)) END
            FROM (
                SELECT greatest(count(*) - rows_bounded(rows_max), 0) AS rest FROM named
                GROUP BY split_part(named.by, ' ', 1)
            ) AS kinds
        ),
        'topics', 'Kafka holds more, for as long as its topics are set to (see ''pipeline topics''): '
            'the bodies as Apple signed them, the feed entitlements.changed, and the user''s newest '
            'state in entitlements.current. No single record of them can be removed. Archived history '
            'is in the files that the table history_archives lists: search them by these names.');
END;

COMMENT ON FUNCTION stored_about_user IS
    'What is stored about a user: rows by table and what forget_user does with them, and the first '
    'rows_max links, claims and purchases each, by which the user''s data is found elsewhere.';

-- Their rights end at these three functions; the others serve them alone.
REVOKE EXECUTE ON FUNCTION
    explain_transaction, explain_user, explained_as_known, explained_now, explained_purchases,
    stored_about_user
FROM PUBLIC;

CREATE FUNCTION dead_letter(id text) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT
BEGIN ATOMIC
    SELECT row_to_json(answer)
    FROM (
        SELECT wanted.id, coalesce(held.state, 'open') AS state, held.outcome,
            EXISTS (
                SELECT FROM dead_letter_actions AS action
                WHERE action.dead_letter_id = wanted.id AND action.action = 'redacted'
            ) AS is_redacted,
            letter.*, coalesce(history.actions, '[]') AS history
        FROM (VALUES (dead_letter.id)) AS wanted (id)
        LEFT JOIN dead_letter_states AS held ON held.id = wanted.id
        LEFT JOIN LATERAL (
            SELECT reason, class, detail,
                coalesce(doubt, CASE WHEN is_disputed THEN
                    'other letters of this ID contradict it: '
                    '''dead-letter verify'' shows which one the chain holds'
                END) AS doubt,
                instant_text(failed_at) AS failed_at, stage, attempt, worker,
                group_id AS "group", copies, replay_of,
                concat_ws('/', source_topic, source_partition, source_offset) AS source,
                instant_text(source_at) AS source_timestamp, source_sha256,
                CASE WHEN raw_topic IS NOT NULL THEN
                    concat_ws('/', raw_topic, raw_partition, raw_offset)
                END AS raw,
                concat_ws('/', (SELECT min(topic) FROM dead_letter_progress), letter_partition,
                    letter_offset) AS position,
                producer, value_state AS value, omitted, verifier_version, config_sha256,
                chain_sha256, chain_previous,
                json_build_object(
                    'transaction_id', transaction_id,
                    'original_transaction_id', original_transaction_id, 'bundle_id', bundle_id,
                    'environment', environment, 'product_id', product_id,
                    'signed_at', instant_text(signed_at)
                ) AS unverified,
                (
                    SELECT coalesce(
                        json_object_agg(role, json_build_object('sha256', sha256))
                            FILTER (WHERE sha256 IS NOT NULL),
                        '{}')
                    FROM (VALUES ('leaf', leaf_sha256), ('intermediate', intermediate_sha256),
                        ('root', root_sha256)) AS certificate (role, sha256)
                ) AS chain
            FROM dead_letters AS known WHERE known.id = wanted.id
        ) AS letter ON true
        CROSS JOIN (
            SELECT json_agg(entry) AS actions
            FROM (
                SELECT number, instant_text(at) AS at, action, who, database_user, replay, why,
                    detail
                FROM dead_letter_actions AS done
                WHERE done.dead_letter_id = dead_letter.id
                ORDER BY number DESC LIMIT 1000
            ) AS entry
        ) AS history
        WHERE letter.reason IS NOT NULL OR history.actions IS NOT NULL
    ) AS answer;
END;

COMMENT ON FUNCTION dead_letter IS
    'A dead letter by its whole ID, as the index knows it, with its state, the outcome of its last '
    'replay and the last thousand actions on it, the last first. Once the row of the letter is pruned, its '
    'members are null; an unknown ID gives null.';
