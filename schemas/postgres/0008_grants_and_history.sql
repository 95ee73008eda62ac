-- What people granted, beside what was bought; and what was known when.

-- Facts of another source than Apple's: they are in no table that Apple's word fills, so that neither
-- is ever taken for the other. An environment of their own, as all that grants.
CREATE TABLE grants (
    grant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment text COLLATE "C" NOT NULL CHECK (environment <> ''),
    user_id text COLLATE "C" NOT NULL CHECK (user_id <> ''),
    entitlement_key text COLLATE "C" NOT NULL CHECK (entitlement_key <> ''),
    -- Start included, end excluded; no end is for ever. Cut short when the grant is revoked.
    periods tstzmultirange NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    granted_by text NOT NULL CHECK (granted_by <> ''),
    reason text NOT NULL CHECK (reason <> ''),
    revoked_at timestamptz,
    revoked_by text CHECK (revoked_by <> ''),
    revocation_reason text CHECK (revocation_reason <> '')
);

CREATE INDEX grants_of_user ON grants (user_id, entitlement_key);

-- The same history and the same feed. No purchase stands behind a change by a grant.
ALTER TABLE changes
    ADD COLUMN grant_id bigint,
    ALTER COLUMN bundle_id DROP NOT NULL,
    ALTER COLUMN original_transaction_id DROP NOT NULL,
    DROP CONSTRAINT changes_cause_check,
    ADD CONSTRAINT changes_cause_check CHECK (
        cause IN ('transaction', 'renewal', 'notification', 'link', 'catalog', 'rebuild', 'grant')
    ),
    ADD CONSTRAINT changes_of_grant_or_purchase CHECK (
        (cause = 'grant') = (grant_id IS NOT NULL)
        AND (grant_id IS NULL) = (original_transaction_id IS NOT NULL)
        AND (grant_id IS NULL) = (bundle_id IS NOT NULL)
    );

-- Gives a grant's change the next version of its user, who is locked.
CREATE FUNCTION record_grant_change(
    changed grants, old_periods tstzmultirange, new_periods tstzmultirange
) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    given bigint;
BEGIN
    INSERT INTO user_versions AS known (user_id, version) VALUES (changed.user_id, 1)
    ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1
    RETURNING known.version INTO given;
    INSERT INTO changes (
        user_id, version, environment, grant_id, entitlement_key, old_periods, new_periods, cause,
        cause_id)
    VALUES (
        changed.user_id, given, changed.environment, changed.grant_id, changed.entitlement_key,
        old_periods, new_periods, 'grant', changed.grant_id::text);
END
$$;

-- Lets a user use something from now on, until an instant or, for null, for ever.
--
-- Returns the grant's number, by which it is revoked.
CREATE FUNCTION grant_entitlement(
    user_id text,
    entitlement_key text,
    until timestamptz,
    reason text,
    granted_by text,
    environment text DEFAULT 'Production'
) RETURNS bigint
    LANGUAGE plpgsql AS
$$
#variable_conflict use_variable
DECLARE
    added grants;
BEGIN
    IF until <= now() THEN
        RAISE EXCEPTION 'a grant ends after it begins' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_users(ARRAY[user_id]);
    INSERT INTO grants (environment, user_id, entitlement_key, periods, granted_by, reason)
    VALUES (
        environment, user_id, entitlement_key,
        tstzmultirange(tstzrange(
            date_trunc('milliseconds', now()), date_trunc('milliseconds', until))),
        granted_by, reason)
    RETURNING * INTO added;
    PERFORM record_grant_change(added, '{}', added.periods);
    RETURN added.grant_id;
END
$$;

-- Ends a grant now; what was used until then stays in the history.
--
-- Returns false where there is no such grant, or where it was revoked before.
CREATE FUNCTION revoke_grant(grant_id bigint, reason text, revoked_by text) RETURNS boolean
    LANGUAGE plpgsql AS
$$
#variable_conflict use_variable
DECLARE
    known grants;
    ended grants;
BEGIN
    SELECT * INTO known FROM grants AS held WHERE held.grant_id = revoke_grant.grant_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM lock_users(ARRAY[known.user_id]);
    UPDATE grants AS held SET
        periods = held.periods
            * tstzmultirange(tstzrange(NULL, date_trunc('milliseconds', now()))),
        revoked_at = now(),
        revoked_by = revoke_grant.revoked_by,
        revocation_reason = revoke_grant.reason
    WHERE held.grant_id = revoke_grant.grant_id AND held.revoked_at IS NULL
    RETURNING held.* INTO ended;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF ended.periods <> known.periods THEN
        PERFORM record_grant_change(ended, known.periods, ended.periods);
    END IF;
    RETURN true;
END
$$;

-- Bought or granted: for the user it is the same.
CREATE OR REPLACE FUNCTION has_entitlement(
    user_id text,
    entitlement_key text,
    at timestamptz DEFAULT now(),
    environment text DEFAULT 'Production'
) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM entitlements AS held
        WHERE held.user_id = has_entitlement.user_id
            AND held.entitlement_key = has_entitlement.entitlement_key
            AND held.environment = has_entitlement.environment
            AND held.periods @> has_entitlement.at
    ) OR EXISTS (
        SELECT FROM grants AS held
        WHERE held.user_id = has_entitlement.user_id
            AND held.entitlement_key = has_entitlement.entitlement_key
            AND held.environment = has_entitlement.environment
            AND held.periods @> has_entitlement.at
    );
END;

DROP VIEW active_entitlements;
DROP FUNCTION active_entitlements_in;

-- What holds now in one environment, with the span of time that now lies in; no end is for ever.
-- Either a purchase stands behind it or a grant.
CREATE FUNCTION active_entitlements_in(environment text)
RETURNS TABLE (
    user_id text,
    entitlement_key text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    active_since timestamptz,
    active_until timestamptz
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.user_id, held.entitlement_key, held.bundle_id, held.original_transaction_id,
        NULL::bigint, lower(span), upper(span)
    FROM entitlements AS held
    CROSS JOIN LATERAL unnest(held.periods) AS span
    WHERE held.environment = active_entitlements_in.environment AND span @> now()
    UNION ALL
    SELECT held.user_id, held.entitlement_key, NULL, NULL, held.grant_id, lower(span), upper(span)
    FROM grants AS held
    CROSS JOIN LATERAL unnest(held.periods) AS span
    WHERE held.environment = active_entitlements_in.environment AND span @> now();
END;

CREATE VIEW active_entitlements AS
    SELECT * FROM active_entitlements_in('Production');

COMMENT ON VIEW active_entitlements IS
    'Production only; active_entitlements_in(environment) answers for the others.';

-- What was known of a user at an instant: every entitlement with the periods that were taken to hold.
CREATE FUNCTION entitlements_as_known(
    user_id text, known_at timestamptz, environment text DEFAULT 'Production'
) RETURNS TABLE (
    entitlement_key text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    periods tstzmultirange,
    version bigint,
    changed_at timestamptz
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT newest.entitlement_key, newest.bundle_id, newest.original_transaction_id,
        newest.grant_id, newest.new_periods, newest.version, newest.changed_at
    FROM (
        SELECT DISTINCT ON (
            change.bundle_id, change.original_transaction_id, change.grant_id,
            change.entitlement_key) change.*
        FROM changes AS change
        WHERE change.user_id = entitlements_as_known.user_id
            AND change.environment = entitlements_as_known.environment
            AND change.changed_at <= entitlements_as_known.known_at
        ORDER BY change.bundle_id, change.original_transaction_id, change.grant_id,
            change.entitlement_key, change.version DESC
    ) AS newest
    WHERE NOT isempty(newest.new_periods);
END;

-- Whether a user could use something at an instant, by what was known at another.
--
-- has_entitlement answers the same by what is known now.
CREATE FUNCTION had_entitlement(
    user_id text,
    entitlement_key text,
    at timestamptz,
    known_at timestamptz,
    environment text DEFAULT 'Production'
) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM entitlements_as_known(
            had_entitlement.user_id, had_entitlement.known_at, had_entitlement.environment
        ) AS known
        WHERE known.entitlement_key = had_entitlement.entitlement_key
            AND known.periods @> had_entitlement.at
    );
END;
