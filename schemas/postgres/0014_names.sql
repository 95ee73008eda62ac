-- The account token and the appTransactionId of a fact are those of the newest revision that names one:
-- what is absent from a newer word is not withdrawn. A row names that revision where it is not the
-- newest, and where the token was forgotten, so that the same revision does not bring it back.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

ALTER TABLE transactions
    ADD COLUMN token_signed_date_ms bigint, ADD COLUMN token_content_hash bytea,
    ADD COLUMN app_transaction_signed_date_ms bigint, ADD COLUMN app_transaction_content_hash bytea;
ALTER TABLE renewals
    ADD COLUMN token_signed_date_ms bigint, ADD COLUMN token_content_hash bytea,
    ADD COLUMN app_transaction_signed_date_ms bigint, ADD COLUMN app_transaction_content_hash bytea;
ALTER TABLE ownership_facts
    ADD COLUMN token_signed_date_ms bigint, ADD COLUMN token_content_hash bytea,
    ADD COLUMN app_transaction_signed_date_ms bigint, ADD COLUMN app_transaction_content_hash bytea;
ALTER TABLE ownership_renewals
    ADD COLUMN token_signed_date_ms bigint, ADD COLUMN token_content_hash bytea,
    ADD COLUMN app_transaction_signed_date_ms bigint, ADD COLUMN app_transaction_content_hash bytea;

COMMENT ON TABLE ownership_facts IS
    'What the newest revision of each transaction says about whose its purchase is, and the newest '
    'that names a token or an appTransactionId. Written by link-worker, kept forever; never behind '
    'transactions.';
COMMENT ON TABLE ownership_renewals IS
    'What the newest renewal info of each subscription, and the newest that names it, says about whose '
    'its purchases are. Written by link-worker, kept forever.';

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
    PERFORM pg_notify('account_links', '');
    RETURN forgotten;
END
$$;

-- A token is stored as link-worker looks for it: PostgreSQL reads a UUID in any case, without hyphens
-- and in braces, as some databases print it. Any other text would never match a purchase.
CREATE OR REPLACE FUNCTION account_links_normalize() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
BEGIN
    IF NEW.kind = 'account_token' THEN
        IF NEW.key !~ '^([0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}|\{[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}\})$'
        THEN
            RAISE EXCEPTION 'an account token is a UUID, such as '
                '7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa' USING ERRCODE = 'check_violation';
        END IF;
        NEW.key := NEW.key::uuid::text;
    END IF;
    RETURN NEW;
END
$$;

-- Tokens that were written otherwise. One that is linked in both forms keeps the form that counted.
UPDATE account_links AS link SET key = key::uuid::text
WHERE kind = 'account_token'
    AND key ~ '^(\{.*\}|[0-9a-f]{32})$'
    AND key ~ '^([0-9a-f]{4}(-?[0-9a-f]{4}){7}|\{[0-9a-f]{4}(-?[0-9a-f]{4}){7}\})$'
    AND key::uuid <> '00000000-0000-0000-0000-000000000000'
    AND NOT EXISTS (
        SELECT FROM account_links AS other
        WHERE other.key = link.key::uuid::text AND other.kind = link.kind
            AND other.environment = link.environment AND other.bundle_id = link.bundle_id
    );
