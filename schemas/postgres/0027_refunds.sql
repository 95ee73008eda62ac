-- Answers to Apple's refund requests: what was asked, what may be told, and what was answered.
-- Contracts: recovery_requests.recovery_requests_kind_check
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

ALTER TABLE recovery_requests
    DROP CONSTRAINT recovery_requests_kind_check,
    ADD CONSTRAINT recovery_requests_kind_check CHECK (
        kind IN ('subscriptions', 'transactions', 'refunds', 'order', 'finish', 'account_token', 'consumption')
    );

-- Refund requests that Apple signed from here on are answered; null if none is.
ALTER TABLE recovery_windows ADD COLUMN refunds_from_ms bigint;

CREATE TABLE refund_requests (
    -- The notification CONSUMPTION_REQUEST, also the subject in recovery_requests.
    uuid text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    -- Apple waits for 12 hours.
    deadline_ms bigint NOT NULL,
    -- The preference of the last person who decided it, or none; null if nobody did.
    wanted text COLLATE "C" CHECK (wanted IN ('none', 'decline', 'grant_full', 'grant_prorated')),
    -- The body for Apple, and what it follows from. Stored before it is sent and never changed, so that
    -- Apple gets one answer however often it is sent.
    answer json,
    evidence json,
    -- How it ended; null while it waits.
    outcome text COLLATE "C" CHECK (outcome IN ('answered', 'no_consent', 'late', 'refused')),
    -- Apple's error code, of a refused answer.
    error_code bigint,
    ended_at timestamptz,
    PRIMARY KEY (uuid, environment)
) WITH (fillfactor = 80);

COMMENT ON TABLE refund_requests IS
    'Apple''s questions about refunds, and the answers. Written by a trigger of notifications and by '
    'recovery-worker, kept forever.';

CREATE INDEX refund_requests_by_date ON refund_requests (signed_date_ms);
CREATE INDEX refund_requests_of_purchase ON refund_requests (original_transaction_id);

-- What Apple decided. The table is large: make the index CONCURRENTLY before.
CREATE INDEX IF NOT EXISTS notifications_of_refunds ON notifications (transaction_id, environment)
    WHERE type IN ('REFUND', 'REFUND_DECLINED', 'REFUND_REVERSED');

CREATE TABLE refund_consents (
    consent_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL CHECK (is_identifier(user_id)),
    is_consented boolean NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (is_identifier(reference)),
    stated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stated_by text NOT NULL DEFAULT session_user,
    UNIQUE (user_id, reference)
);

COMMENT ON TABLE refund_consents IS
    'What users said about telling Apple of their consumption; the last word counts. Written through '
    'set_refund_consent, append-only, kept forever.';

CREATE TABLE refund_acts (
    act_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    preference text COLLATE "C" NOT NULL,
    acted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    acted_by text NOT NULL CHECK (octet_length(acted_by) BETWEEN 1 AND 255),
    reason text NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 2000),
    role text NOT NULL DEFAULT session_user
);

CREATE INDEX refund_acts_of_request ON refund_acts (uuid, environment);

COMMENT ON TABLE refund_acts IS
    'What people decided about single refund requests, with name, time and reason. Written by '
    '`pipeline refunds answer`, append-only, kept forever.';

CREATE FUNCTION refuse_change_of_refunds() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, lower(TG_OP)
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refund_consents
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_refunds();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refund_acts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_refunds();

-- A refund request is to be answered once its notification is committed, which is by the same transaction.
CREATE FUNCTION request_refund_answers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
BEGIN
    IF EXISTS (SELECT FROM added WHERE type = 'CONSUMPTION_REQUEST') THEN
        WITH asked AS (
            INSERT INTO refund_requests (
                uuid, environment, bundle_id, transaction_id, original_transaction_id, signed_date_ms,
                deadline_ms)
            SELECT added.uuid, added.environment, added.bundle_id, added.transaction_id,
                added.original_transaction_id, added.signed_date_ms, added.signed_date_ms + 43200000
            FROM added JOIN recovery_windows AS app
                ON app.bundle_id = added.bundle_id AND app.environment = added.environment
                AND app.job = 'complete' AND app.refunds_from_ms <= added.signed_date_ms
            WHERE added.type = 'CONSUMPTION_REQUEST' AND is_identifier(added.uuid)
                AND added.transaction_id IS NOT NULL AND added.original_transaction_id IS NOT NULL
            ORDER BY added.uuid
            ON CONFLICT DO NOTHING
            RETURNING environment, bundle_id, uuid
        )
        INSERT INTO recovery_requests (environment, bundle_id, kind, subject)
        SELECT environment, bundle_id, 'consumption', uuid FROM asked
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER asked AFTER INSERT ON notifications REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION request_refund_answers();

CREATE FUNCTION set_refund_consent(user_id text, consented boolean, reference text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
DECLARE
    known refund_consents;
BEGIN
    IF consented IS NULL OR is_identifier(user_id) IS NOT TRUE OR is_identifier(reference) IS NOT TRUE THEN
        RAISE EXCEPTION 'a consent has a user, true or false, and a reference'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_users(ARRAY[user_id]);
    SELECT * INTO known FROM refund_consents AS word
        WHERE word.user_id = set_refund_consent.user_id AND word.reference = set_refund_consent.reference;
    IF known.is_consented <> consented THEN
        RAISE EXCEPTION 'this reference stands for another answer already' USING ERRCODE = 'RC001';
    ELSIF known.is_consented IS NULL THEN
        INSERT INTO refund_consents (user_id, is_consented, reference)
        VALUES (user_id, consented, reference);
    END IF;
    RETURN (
        SELECT word.is_consented FROM refund_consents AS word
        WHERE word.user_id = set_refund_consent.user_id ORDER BY word.consent_id DESC LIMIT 1
    );
END
$$;

COMMENT ON FUNCTION set_refund_consent IS
    'States whether a user consents that Apple is told of the consumption of a purchase whose refund is '
    'asked for, and returns what holds now: the last word. The same reference again changes nothing.';

-- Decides a request that is not answered yet; returns whether there is one.
CREATE FUNCTION decide_refund(
    uuid text, environment text, preference text, decided_by text, reason text
) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
BEGIN
    PERFORM require_environment(environment);
    UPDATE refund_requests AS asked SET wanted = preference
    WHERE asked.uuid = decide_refund.uuid AND asked.environment = decide_refund.environment
        AND asked.answer IS NULL AND asked.outcome IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO refund_acts (uuid, environment, preference, acted_by, reason)
    VALUES (uuid, environment, preference, decided_by, reason);
    UPDATE recovery_requests AS waiting SET due_at = least(waiting.due_at, now())
    WHERE waiting.subject = decide_refund.uuid AND waiting.environment = decide_refund.environment
        AND waiting.kind = 'consumption' AND waiting.finished_at IS NULL;
    RETURN true;
END
$$;

COMMENT ON FUNCTION decide_refund IS
    'Sets the preference (none, decline, grant_full, grant_prorated) of one refund request instead of the '
    'rules, and records who did it. False if there is no such request, or if its answer is written.';

CREATE VIEW refunds AS
    SELECT
        asked.uuid AS request_id, asked.environment, asked.bundle_id, asked.original_transaction_id,
        asked.transaction_id, paid.product_id, paid.product_type, paid.user_id,
        paid.price * paid.quantity AS price, paid.currency,
        timestamptz_from_ms(asked.signed_date_ms) AS requested_at,
        timestamptz_from_ms(asked.deadline_ms) AS deadline,
        CASE
            WHEN asked.outcome IS NOT NULL THEN asked.outcome
            WHEN timestamptz_from_ms(asked.deadline_ms) > now() THEN 'waiting'
            ELSE 'late'
        END AS outcome,
        asked.ended_at,
        CASE WHEN asked.answer IS NOT NULL
            THEN lower(coalesce(asked.answer ->> 'refundPreference', 'none')) END AS preference,
        asked.answer, asked.evidence, asked.error_code,
        act.acted_by AS decided_by, act.reason,
        CASE came.type WHEN 'REFUND' THEN 'refunded' WHEN 'REFUND_DECLINED' THEN 'declined'
            WHEN 'REFUND_REVERSED' THEN 'reversed' END AS decision,
        timestamptz_from_ms(came.signed_date_ms) AS decision_at,
        CASE WHEN came.type = 'REFUND' THEN paid.refund_percentage END AS refund_percentage
    FROM refund_requests AS asked
    LEFT JOIN purchases AS paid
        ON paid.original_transaction_id = asked.original_transaction_id
        AND paid.transaction_id = asked.transaction_id AND paid.environment = asked.environment
        AND paid.bundle_id = asked.bundle_id
    LEFT JOIN LATERAL (
        SELECT acted_by, reason FROM refund_acts AS act
        WHERE act.uuid = asked.uuid AND act.environment = asked.environment
        ORDER BY act.act_id DESC LIMIT 1
    ) AS act ON true
    LEFT JOIN LATERAL (
        SELECT came.type, came.signed_date_ms FROM notifications AS came
        WHERE came.transaction_id = asked.transaction_id AND came.environment = asked.environment
            AND came.type IN ('REFUND', 'REFUND_DECLINED', 'REFUND_REVERSED')
            AND came.signed_date_ms >= asked.signed_date_ms
        ORDER BY came.signed_date_ms DESC LIMIT 1
    ) AS came ON true;

COMMENT ON VIEW refunds IS
    'Each refund request of Apple''s, the evidence, the answer, and what Apple decided. price is in '
    'thousandths of the currency for the whole quantity; user_id is the present owner.';

CREATE OR REPLACE FUNCTION stored_about_user(user_id text, rows_max bigint DEFAULT 100) RETURNS json
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
        SELECT 10, 'ledger_debits', 'what the user spent, and what support credited',
            'kept for the accounts', count(*)
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
        UNION ALL
        SELECT 17, 'account_link_acts', 'links of the user that people added, moved or removed',
            'removed by forget', count(*)
        FROM account_link_acts AS kept
        WHERE stored_about_user.user_id IN (kept.user_id, kept.former_user_id)
        UNION ALL
        SELECT 18, 'recovery_requests', 'purchases for which Apple gets the user''s account token',
            'removed by forget', count(*)
        FROM recovery_requests AS kept WHERE kept.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 19, 'refund_consents', 'whether Apple may be told of the user''s consumption',
            'kept as proof', count(*)
        FROM refund_consents AS kept WHERE kept.user_id = stored_about_user.user_id
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
        'topics', 'Kafka holds more. ''pipeline forget'' replaces the user''s state in entitlements.current by '
            'a tombstone as soon as the user holds nothing. The bodies as Apple signed them and the feed '
            'entitlements.changed go with the retention of their topics, and no single record of them goes '
            'before. Archived history is in the files that the table history_archives lists: search them by '
            'these names.');
END;

-- Triggers, and what people decide.
REVOKE EXECUTE ON FUNCTION
    refuse_change_of_refunds, request_refund_answers, set_refund_consent, decide_refund
FROM PUBLIC;
