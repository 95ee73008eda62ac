-- The history of changes, and the outbox of the feed that publishes them.

CREATE TABLE user_versions (
    user_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 50);

COMMENT ON TABLE user_versions IS
    'The last version given out to a user''s changes. Written under the user''s lock by all who '
    'write changes, kept forever.';

CREATE TABLE changes (
    user_id text COLLATE "C" NOT NULL,
    -- Grows by one for each user and never skips.
    version bigint NOT NULL CHECK (version > 0),
    environment text COLLATE "C" NOT NULL,
    -- Null for a change by a grant, which has no purchase.
    bundle_id text COLLATE "C",
    original_transaction_id text COLLATE "C",
    grant_id bigint,
    entitlement_key text COLLATE "C" NOT NULL,
    old_periods tstzmultirange NOT NULL,
    new_periods tstzmultirange NOT NULL,
    -- How it is held from then on, as in entitlements; null for a grant and where it is gone.
    ownership_type text COLLATE "C",
    seats bigint,
    additional_transaction_reason text COLLATE "C",
    cause text COLLATE "C" NOT NULL CHECK (
        cause IN ('transaction', 'renewal', 'notification', 'link', 'catalog', 'rebuild', 'grant')
    ),
    -- The transaction, notification or link that brought it.
    cause_id text COLLATE "C",
    catalog_version integer,
    source_topic text COLLATE "C",
    source_partition integer,
    source_offset bigint,
    -- Read under the user's lock, so it is never before that of an earlier version.
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, version),
    CONSTRAINT changes_of_grant_or_purchase CHECK (
        (cause = 'grant') = (grant_id IS NOT NULL)
        AND (grant_id IS NULL) = (original_transaction_id IS NOT NULL)
        AND (grant_id IS NULL) = (bundle_id IS NOT NULL)
    )
);

COMMENT ON TABLE changes IS
    'What a user could use before and after, and why it became different. Rows are only ever '
    'added, by entitle-worker and by the functions of grants, and kept forever.';

CREATE TABLE unpublished_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

COMMENT ON TABLE unpublished_changes IS
    'The outbox: changes that are committed and not published yet. Written by a trigger of '
    'changes, removed by entitle-worker when the broker has acknowledged what they stand for.';

-- Appending to the history also queues for publishing, in the same transaction and in the order of
-- the versions, because the next version of a user waits for this one's commit.
CREATE FUNCTION publish_changes() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO unpublished_changes (user_id, version)
    SELECT user_id, version FROM after ORDER BY user_id, version;
    RETURN NULL;
END
$$;

CREATE TRIGGER published AFTER INSERT ON changes REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION publish_changes();

-- The holder sends a record only if the rest of its lease suffices to deliver it or give it up before
-- another copy may begin. The last requests of a killed copy may be served after those of the next
-- one, and entitlements.current would end in an older version of a user than the newest. So sent
-- changes are recorded, and the newest states of the users concerned are published again.
CREATE TABLE feed_lease (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    holder text NOT NULL,
    until timestamptz NOT NULL,
    -- The outbox ID of the last change in flight; 0 if all are acknowledged.
    handed_over_through bigint NOT NULL DEFAULT 0,
    -- Changes up to this ID were sent, and it is not known whether they arrived.
    suspect_through bigint NOT NULL DEFAULT 0
);

COMMENT ON TABLE feed_lease IS
    'Which copy of entitle-worker publishes, and until when. Written by the copies themselves.';

CREATE TABLE feed_repetitions (
    user_id text COLLATE "C" PRIMARY KEY,
    due timestamptz NOT NULL
);

COMMENT ON TABLE feed_repetitions IS
    'Users whose newest state goes into the outbox once more, and when. Written and removed by '
    'entitle-worker.';

-- Finds due ones without a scan of the whole table.
CREATE INDEX feed_repetitions_due ON feed_repetitions (due);

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
    PERFORM require_environment(environment);
    until := nullif(until, 'infinity');
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

COMMENT ON FUNCTION grant_entitlement IS
    'Lets a user use something from now on, until an instant; forever for null and for '
    '''infinity''. Returns the grant''s number, by which it is revoked.';

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

COMMENT ON FUNCTION revoke_grant IS
    'Ends a grant now; its past stays in the history. Returns false if there is no such grant, or '
    'if it was revoked before.';

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
    WHERE require_environment(entitlements_as_known.environment)
        AND NOT isempty(newest.new_periods);
END;

COMMENT ON FUNCTION entitlements_as_known IS
    'The knowledge about a user at an instant: every entitlement with its periods as known then.';

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

COMMENT ON FUNCTION had_entitlement IS
    'Whether a user could use something at an instant, by the knowledge of another instant.';
