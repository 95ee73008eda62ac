-- Account tokens set at Apple: a purchase that was linked otherwise than by a token of its own gets its owner's,
-- so that Apple's later bodies carry it.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Contracts: recovery_requests.recovery_requests_kind_check
ALTER TABLE recovery_requests
    -- The owner whose token is set; null for the other kinds.
    ADD COLUMN user_id text COLLATE "C",
    DROP CONSTRAINT recovery_requests_kind_check,
    ADD CONSTRAINT recovery_requests_kind_check CHECK (kind IN (
        'subscriptions', 'transactions', 'refunds', 'order', 'finish', 'account_token')
    );

COMMENT ON TABLE recovery_requests IS
    'What recovery-worker asks and tells Apple about single purchases and orders. Written by it, by '
    '`pipeline recover apple`, `pipeline import` and a trigger of transactions; removed some days after the answer, '
    'those of an import after half a year, account tokens never, which are set once.';

CREATE INDEX recovery_requests_of_user ON recovery_requests (user_id) WHERE user_id IS NOT NULL;

-- Found without the requests about account tokens, of which there may be one for each purchase.
CREATE INDEX recovery_requests_unfinished ON recovery_requests (kind)
    WHERE kind <> 'account_token' AND (result = 'refused' OR kind = 'finish' AND result <> 'done');

-- Returns the token to set for a purchase of this owner. Null without one: the request has ended with its
-- result, waits for link-worker, or is gone.
--
-- It locks the request before all else, as forget_user does, and then the owner, so that purchases of one user
-- never make two tokens. A new token is a link before Apple has it.
CREATE FUNCTION account_token_to_set(app_environment text, app_id text, purchase_id text, owner_id text)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
DECLARE
    request CURSOR FOR
        SELECT FROM recovery_requests AS asked
        WHERE asked.subject = purchase_id AND asked.kind = 'account_token'
            AND asked.environment = app_environment AND asked.bundle_id = app_id
            AND asked.user_id = owner_id AND asked.finished_at IS NULL
        FOR UPDATE;
    are_user_ids CONSTANT boolean :=
        coalesce((SELECT tokens_are_user_ids FROM linking_rules), false);
    uuid_form CONSTANT text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    purchase owners;
    held_token text;
    holder_id text;
    token text;
    ending text;
BEGIN
    PERFORM require_read_committed();
    OPEN request;
    MOVE request;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO purchase FROM owners AS known
    WHERE known.original_transaction_id = purchase_id AND known.environment = app_environment
        AND known.bundle_id = app_id;
    IF purchase.user_id IS DISTINCT FROM owner_id THEN
        -- The next look at all purchases begins another owner's day.
        DELETE FROM recovery_requests WHERE CURRENT OF request;
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT FROM account_link_changes AS change
        WHERE change.key IN (purchase_id, purchase.app_transaction_id)
    ) THEN
        UPDATE recovery_requests SET due_at = now() + interval '1 minute' WHERE CURRENT OF request;
        RETURN NULL;
    END IF;

    SELECT named.account_token INTO held_token FROM (
        SELECT fact.account_token, 1 AS place, fact.purchase_date_ms AS date_ms, fact.transaction_id
        FROM ownership_facts AS fact
        WHERE fact.original_transaction_id = purchase_id AND fact.environment = app_environment
            AND fact.bundle_id = app_id
        UNION ALL
        SELECT renewal.account_token, 2, renewal.signed_date_ms, ''
        FROM ownership_renewals AS renewal
        WHERE renewal.original_transaction_id = purchase_id AND renewal.environment = app_environment
    ) AS named
    WHERE named.account_token IS NOT NULL
    ORDER BY named.place, named.date_ms DESC, named.transaction_id DESC LIMIT 1;
    holder_id := CASE WHEN are_user_ids THEN held_token ELSE (
        SELECT link.user_id FROM account_links AS link
        WHERE link.kind = 'account_token' AND link.key = held_token
            AND link.environment IN ('', app_environment) AND link.bundle_id IN ('', app_id)
        ORDER BY link.environment DESC, link.bundle_id DESC LIMIT 1
    ) END;
    IF holder_id = owner_id THEN
        ending := 'done';
    ELSIF held_token IS NOT NULL AND purchase.rule <> 'original_transaction_link' THEN
        ending := 'other_token';
    ELSIF purchase.rule = 'ingestion_claim' AND (purchase.spans IS NOT NULL OR EXISTS (
        SELECT FROM owners AS other
        WHERE other.app_transaction_id = purchase.app_transaction_id
            AND other.environment = app_environment AND other.bundle_id = app_id
            AND other.user_id <> owner_id
    )) THEN
        -- The token would decide about the other users' purchases and periods, which a claim does not.
        ending := 'several_users';
    ELSIF are_user_ids AND (owner_id !~ uuid_form OR owner_id ~ '^[0-]+$') THEN
        ending := 'not_a_uuid';
    END IF;
    IF ending IS NOT NULL THEN
        UPDATE recovery_requests SET finished_at = now(), result = ending WHERE CURRENT OF request;
        RETURN NULL;
    END IF;
    IF are_user_ids THEN
        RETURN owner_id;
    END IF;

    PERFORM lock_in_order(ARRAY['account token' || chr(9) || owner_id]);
    SELECT link.key INTO token FROM account_links AS link
    WHERE link.user_id = owner_id AND link.kind = 'account_token' AND link.key ~ uuid_form
        AND link.environment IN ('', app_environment) AND link.bundle_id IN ('', app_id)
        -- A narrower link may give it to another user here.
        AND NOT EXISTS (
            SELECT FROM account_links AS other
            WHERE other.key = link.key AND other.kind = 'account_token' AND other.user_id <> owner_id
                AND other.environment IN ('', app_environment) AND other.bundle_id IN ('', app_id)
        )
    ORDER BY link.linked_at DESC, link.key LIMIT 1;
    IF token IS NULL THEN
        token := gen_random_uuid()::text;
        INSERT INTO account_links (kind, key, user_id) VALUES ('account_token', token, owner_id);
    END IF;
    RETURN token;
END
$$;

REVOKE EXECUTE ON FUNCTION account_token_to_set FROM PUBLIC;

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
    ), changed AS (
        INSERT INTO account_link_changes (kind, environment, bundle_id, key)
        SELECT DISTINCT 'original_transaction_id', environment, bundle_id, original_transaction_id
        FROM gone
    )
    SELECT count(*) INTO claim_count FROM gone;

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
