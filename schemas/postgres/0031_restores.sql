-- Users named by the ingestion service beside a transaction that had come with another user before.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE TABLE ownership_restores (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    -- Where and when the earliest raw record with this user was written.
    raw_timestamp_ms bigint NOT NULL,
    raw_partition bigint NOT NULL,
    raw_offset bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (original_transaction_id, transaction_id, environment, bundle_id, user_id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX ownership_restores_of_user ON ownership_restores (user_id);

COMMENT ON TABLE ownership_restores IS
    'Further users that the ingestion service named beside a transaction, the 16 earliest; they count while '
    'linking.move_restored is set. Written by link-worker, kept forever.';
COMMENT ON TABLE ownership_claims IS
    'The user that the ingestion service named first beside a transaction; counts while '
    'linking.trust_ingest_user is set. Written by link-worker, kept forever.';

-- The link-workers of the version before know no restores.
ALTER TABLE linking_rules ADD COLUMN moves_restored boolean NOT NULL DEFAULT false;

-- As before, with restores.
CREATE OR REPLACE FUNCTION forget_user(user_id text, forgotten_by text, reason text)
    RETURNS forgotten_users
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
DECLARE
    forgotten forgotten_users;
    token CONSTANT text := lower(forget_user.user_id);
    are_user_ids CONSTANT boolean :=
        coalesce((SELECT tokens_are_user_ids FROM linking_rules), false);
    link_count bigint;
    claim_count bigint;
    fact_count bigint := 0;
    renewal_count bigint := 0;
BEGIN
    PERFORM require_read_committed();
    PERFORM lock_ownership(array_agg(named.environment), array_agg(named.id)),
        lock_projection(array_agg(named.environment), array_agg(named.id))
    FROM (
        SELECT claim.environment, claim.original_transaction_id AS id
        FROM ownership_claims AS claim WHERE claim.user_id = forget_user.user_id
        UNION
        SELECT restore.environment, restore.original_transaction_id
        FROM ownership_restores AS restore WHERE restore.user_id = forget_user.user_id
        UNION
        SELECT environment, original_transaction_id FROM ownership_facts
        WHERE are_user_ids AND account_token = token
        UNION
        SELECT environment, original_transaction_id FROM ownership_renewals
        WHERE are_user_ids AND account_token = token
    ) AS named;

    -- Requests go before links: a token in the making holds its request until its link can be seen here.
    DELETE FROM recovery_requests AS asked WHERE asked.user_id = forget_user.user_id;
    DELETE FROM account_links AS link WHERE link.user_id = forget_user.user_id;
    GET DIAGNOSTICS link_count = ROW_COUNT;

    WITH gone AS (
        DELETE FROM ownership_claims AS claim WHERE claim.user_id = forget_user.user_id
        RETURNING claim.environment, claim.bundle_id, claim.original_transaction_id
    ), gone_restores AS (
        DELETE FROM ownership_restores AS restore WHERE restore.user_id = forget_user.user_id
        RETURNING restore.environment, restore.bundle_id, restore.original_transaction_id
    ), removed AS (
        SELECT * FROM gone UNION ALL SELECT * FROM gone_restores
    ), changed AS (
        INSERT INTO account_link_changes (kind, environment, bundle_id, key)
        SELECT DISTINCT 'original_transaction_id', environment, bundle_id, original_transaction_id
        FROM removed
    )
    SELECT count(*) INTO claim_count FROM removed;

    IF are_user_ids THEN
        WITH named AS (
            UPDATE ownership_facts AS fact SET account_token = NULL,
                token_signed_date_ms = coalesce(fact.token_signed_date_ms, fact.signed_date_ms),
                token_content_hash = coalesce(fact.token_content_hash, fact.content_hash)
            WHERE fact.account_token = token
            RETURNING fact.environment, fact.bundle_id, fact.original_transaction_id,
                fact.transaction_id, fact.track
        ), changed AS (
            INSERT INTO account_link_changes (kind, environment, bundle_id, key)
            SELECT DISTINCT 'original_transaction_id', environment, bundle_id,
                original_transaction_id
            FROM named
        ), emptied AS (
            UPDATE transactions AS fact SET account_token = NULL,
                token_signed_date_ms = coalesce(fact.token_signed_date_ms, fact.signed_date_ms),
                token_content_hash = coalesce(fact.token_content_hash, fact.content_hash)
            FROM named
            WHERE (fact.original_transaction_id, fact.transaction_id, fact.environment,
                    fact.bundle_id, fact.track)
                = (named.original_transaction_id, named.transaction_id, named.environment,
                    named.bundle_id, named.track)
        )
        SELECT count(*) INTO fact_count FROM named;
        WITH named AS (
            UPDATE ownership_renewals AS fact SET account_token = NULL,
                token_signed_date_ms = coalesce(fact.token_signed_date_ms, fact.signed_date_ms),
                token_content_hash = coalesce(fact.token_content_hash, fact.content_hash)
            WHERE fact.account_token = token
            RETURNING fact.environment, fact.original_transaction_id, fact.trust
        ), changed AS (
            INSERT INTO account_link_changes (kind, environment, bundle_id, key)
            SELECT DISTINCT 'original_transaction_id', environment, '', original_transaction_id
            FROM named
        ), emptied AS (
            UPDATE renewals AS fact SET account_token = NULL,
                token_signed_date_ms = coalesce(fact.token_signed_date_ms, fact.signed_date_ms),
                token_content_hash = coalesce(fact.token_content_hash, fact.content_hash)
            FROM named
            WHERE (fact.original_transaction_id, fact.environment, fact.trust)
                = (named.original_transaction_id, named.environment, named.trust)
        )
        SELECT count(*) INTO renewal_count FROM named;
    END IF;

    INSERT INTO forgotten_users (user_sha256, forgotten_by, reason, links, claims, tokens)
    VALUES (
        sha256(convert_to(forget_user.user_id, 'UTF8')), forget_user.forgotten_by,
        forget_user.reason, link_count, claim_count, fact_count + renewal_count
    )
    RETURNING * INTO forgotten;
    DELETE FROM account_link_acts AS act
    WHERE act.user_id = forget_user.user_id OR act.former_user_id = forget_user.user_id;

    -- The feed publishes the user's newest state once more: a tombstone, if nothing is held. States of
    -- changes to come follow it.
    WITH known AS (
        SELECT given.user_id, given.version FROM user_versions AS given
        WHERE given.user_id = forget_user.user_id
        FOR NO KEY UPDATE
    )
    INSERT INTO unpublished_changes (user_id, version)
    SELECT known.user_id, known.version FROM known
    WHERE EXISTS (
        SELECT FROM changes AS change
        WHERE change.user_id = known.user_id AND change.version = known.version
    );
    PERFORM pg_notify('account_links', '');
    RETURN forgotten;
END
$$;

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
        UNION ALL
        SELECT 20, 'ownership_restores', 'purchases of others that the ingestion service named the user for',
            'removed by forget', count(*)
        FROM ownership_restores AS kept WHERE kept.user_id = stored_about_user.user_id
    ), named (by, key, environment, bundle_id) AS MATERIALIZED (
        SELECT 'link ' || link.kind, link.key, link.environment, link.bundle_id
        FROM account_links AS link WHERE link.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 'claim', claim.transaction_id, claim.environment, claim.bundle_id
        FROM ownership_claims AS claim WHERE claim.user_id = stored_about_user.user_id
        UNION ALL
        SELECT 'claim', restore.transaction_id, restore.environment, restore.bundle_id
        FROM ownership_restores AS restore WHERE restore.user_id = stored_about_user.user_id
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
