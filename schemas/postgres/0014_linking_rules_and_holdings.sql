-- By which rules purchases' owners are judged: those of the link-worker that started last. Whoever
-- judges beside the workers, such as `pipeline rebuild`, goes by them and not by settings of its own.
CREATE TABLE linking_rules (
    -- There is one row at most.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    policy text COLLATE "C" NOT NULL,
    tokens_are_user_ids boolean NOT NULL,
    trusts_ingestion boolean NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);

-- How many purchases wait for a link is counted from here, and never from the whole table.
CREATE INDEX owners_unowned ON owners (original_transaction_id) WHERE user_id IS NULL;

-- All that a user holds, in every environment, now and ever: bought and granted. Where a record of
-- the feed or an answer could not carry all of it, it stands here.
CREATE FUNCTION held_entitlements(user_id text)
RETURNS TABLE (
    environment text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    entitlement_key text,
    periods tstzmultirange
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.environment, held.bundle_id, held.original_transaction_id, NULL::bigint,
        held.entitlement_key, held.periods
    FROM entitlements AS held WHERE held.user_id = held_entitlements.user_id
    UNION ALL
    SELECT held.environment, NULL, NULL, held.grant_id, held.entitlement_key, held.periods
    FROM grants AS held
    WHERE held.user_id = held_entitlements.user_id AND NOT isempty(held.periods);
END;
