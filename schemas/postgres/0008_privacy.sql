-- A company's duties to its users: to report what is stored about them, and to forget the owners of
-- purchases.

CREATE TABLE forgotten_users (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- SHA-256 of the user's ID: whether a user was forgotten can be answered, and the ID is not
    -- kept for it.
    user_sha256 bytea NOT NULL CHECK (length(user_sha256) = 32),
    forgotten_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    forgotten_by text NOT NULL CHECK (octet_length(forgotten_by) BETWEEN 1 AND 255),
    reason text NOT NULL CHECK (octet_length(reason) BETWEEN 1 AND 2000),
    -- How many rows were removed, and how many facts lost their token.
    links bigint NOT NULL,
    claims bigint NOT NULL,
    tokens bigint NOT NULL
);

CREATE INDEX forgotten_users_of_user ON forgotten_users (user_sha256);

COMMENT ON TABLE forgotten_users IS
    'Users whose links and claims were removed, with requester, time and reason. Written by '
    'forget_user, kept forever.';

-- Removes the data that names the owner: the user's links, the ingestion service's claims, and, if
-- account tokens are user IDs, the token in the facts. The purchases pass to the owner by the other
-- rules, or to nobody, as soon as link-worker has reviewed them.
--
-- The accounting is kept: the facts of the purchases, the ledger, the history. Later records from
-- Apple may name the user again.
CREATE FUNCTION forget_user(user_id text, forgotten_by text, reason text)
    RETURNS forgotten_users
    LANGUAGE plpgsql AS
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
        PERFORM lock_ownership(array_agg(named.environment), array_agg(named.id)),
            lock_projection(array_agg(named.environment), array_agg(named.id))
        FROM (
            SELECT environment, original_transaction_id AS id FROM ownership_facts
            WHERE account_token = token
            UNION
            SELECT environment, original_transaction_id FROM ownership_renewals
            WHERE account_token = token
        ) AS named;
        WITH named AS (
            UPDATE ownership_facts AS fact SET account_token = NULL
            WHERE fact.account_token = token
            RETURNING fact.environment, fact.bundle_id, fact.original_transaction_id,
                fact.transaction_id, fact.track
        ), changed AS (
            INSERT INTO account_link_changes (kind, environment, bundle_id, key)
            SELECT DISTINCT 'original_transaction_id', environment, bundle_id,
                original_transaction_id
            FROM named
        ), emptied AS (
            UPDATE transactions AS fact SET account_token = NULL
            FROM named
            WHERE (fact.original_transaction_id, fact.transaction_id, fact.environment,
                    fact.bundle_id, fact.track)
                = (named.original_transaction_id, named.transaction_id, named.environment,
                    named.bundle_id, named.track)
        )
        SELECT count(*) INTO fact_count FROM named;
        WITH named AS (
            UPDATE ownership_renewals AS fact SET account_token = NULL
            WHERE fact.account_token = token
            RETURNING fact.environment, fact.original_transaction_id, fact.trust
        ), changed AS (
            INSERT INTO account_link_changes (kind, environment, bundle_id, key)
            SELECT DISTINCT 'original_transaction_id', environment, '', original_transaction_id
            FROM named
        ), emptied AS (
            UPDATE renewals AS fact SET account_token = NULL
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
    PERFORM pg_notify('account_links', '');
    RETURN forgotten;
END
$$;

COMMENT ON FUNCTION forget_user IS
    'Removes a user''s links and claims and, if account tokens are user IDs, the tokens in the '
    'facts. The accounting is kept. Returns what was removed.';
