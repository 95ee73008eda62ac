-- Events of time: a period that begins or ends is a change of its own, when it does, and an end may be
-- announced before.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The next instant at which a period of the row begins or ends, null for none, and whether the row was
-- looked at for a notice of it. No earlier boundary of the row is still to be announced. Rows of the version
-- before get the instant of this migration, without being rewritten: they are due at once, and
-- entitle-worker then finds their next instant; so are rows that are written past the trigger. With many
-- rows, add both columns and the index by hand before, the index CONCURRENTLY.
ALTER TABLE entitlements
    ADD COLUMN IF NOT EXISTS next_boundary timestamptz DEFAULT now(),
    ADD COLUMN IF NOT EXISTS is_noticed boolean NOT NULL DEFAULT false;
ALTER TABLE grants
    ADD COLUMN IF NOT EXISTS next_boundary timestamptz DEFAULT now(),
    ADD COLUMN IF NOT EXISTS is_noticed boolean NOT NULL DEFAULT false;
CREATE INDEX IF NOT EXISTS entitlements_boundaries ON entitlements (is_noticed, next_boundary)
    WHERE next_boundary IS NOT NULL;
CREATE INDEX IF NOT EXISTS grants_boundaries ON grants (is_noticed, next_boundary)
    WHERE next_boundary IS NOT NULL;

-- The first instant after another at which a period begins or ends, and nothing for an end without a date.
CREATE FUNCTION boundary_after(periods tstzmultirange, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(CASE WHEN periods @> at THEN tstzmultirange(tstzrange(at, NULL)) - periods
        ELSE tstzmultirange(tstzrange(at, NULL)) * periods END);

-- A boundary that is due and not announced yet stays due, if the periods still have it.
CREATE FUNCTION find_next_boundary() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    after CONSTANT timestamptz :=
        least(OLD.next_boundary - interval '1 microsecond', clock_timestamp());
BEGIN
    NEW.next_boundary := boundary_after(NEW.periods, after);
    NEW.is_noticed :=
        coalesce(OLD.is_noticed AND OLD.next_boundary = NEW.next_boundary, false);
    RETURN NEW;
END
$$;

CREATE TRIGGER bounded BEFORE INSERT ON entitlements
    FOR EACH ROW EXECUTE FUNCTION find_next_boundary();
CREATE TRIGGER moved BEFORE UPDATE OF periods ON entitlements
    FOR EACH ROW WHEN (OLD.periods <> NEW.periods) EXECUTE FUNCTION find_next_boundary();
CREATE TRIGGER bounded BEFORE INSERT ON grants
    FOR EACH ROW EXECUTE FUNCTION find_next_boundary();
CREATE TRIGGER moved BEFORE UPDATE OF periods ON grants
    FOR EACH ROW WHEN (OLD.periods <> NEW.periods) EXECUTE FUNCTION find_next_boundary();

-- Changes by time alone have a cause and, of all changes, an event; their periods stay the same.
-- Rules of a large table are not checked on its rows, and none of these was stricter before.
-- Contracts: changes.changes_cause_check, changes.changes_of_grant_or_purchase, changes.changes_of_time
ALTER TABLE changes
    ADD COLUMN event text COLLATE "C",
    DROP CONSTRAINT changes_cause_check,
    DROP CONSTRAINT changes_of_grant_or_purchase,
    ADD CONSTRAINT changes_cause_check CHECK (cause IN (
        'transaction', 'renewal', 'notification', 'link', 'catalog', 'rebuild', 'grant', 'time')
    ) NOT VALID,
    ADD CONSTRAINT changes_of_grant_or_purchase CHECK (
        (cause = 'time' OR (cause = 'grant') = (grant_id IS NOT NULL))
        AND (grant_id IS NULL) = (original_transaction_id IS NOT NULL)
        AND (grant_id IS NULL) = (bundle_id IS NOT NULL)
    ) NOT VALID,
    ADD CONSTRAINT changes_of_time CHECK (
        (cause = 'time') = (event IS NOT NULL)
        AND event IN ('period_began', 'period_ended', 'grace_began', 'ends_soon')
    ) NOT VALID;

COMMENT ON TABLE changes IS
    'What a user could use before and after, and why it became different; also when a period began or '
    'ended. Written by entitle-worker and by the functions of grants; `deploy/postgres/archive.sql` takes '
    'out what was superseded long ago, and never the newest of an entitlement.';

-- The users of the oldest rows with a boundary that is due, or with one within the notice that was
-- not looked at for it.
CREATE FUNCTION due_boundaries(present timestamptz, notice interval, rows_max bigint)
RETURNS TABLE (user_id text, at timestamptz)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT due.user_id, due.next_boundary
    FROM (
        (SELECT held.user_id, held.next_boundary FROM entitlements AS held
            WHERE NOT held.is_noticed AND held.next_boundary <= present + notice
            ORDER BY held.next_boundary LIMIT rows_max)
        UNION ALL
        (SELECT held.user_id, held.next_boundary FROM entitlements AS held
            WHERE held.is_noticed AND held.next_boundary <= present
            ORDER BY held.next_boundary LIMIT rows_max)
        UNION ALL
        (SELECT held.user_id, held.next_boundary FROM grants AS held
            WHERE NOT held.is_noticed AND held.next_boundary <= present + notice
            ORDER BY held.next_boundary LIMIT rows_max)
        UNION ALL
        (SELECT held.user_id, held.next_boundary FROM grants AS held
            WHERE held.is_noticed AND held.next_boundary <= present
            ORDER BY held.next_boundary LIMIT rows_max)
    ) AS due
    ORDER BY due.next_boundary LIMIT rows_max;
END;

-- Adds what time has changed to the history of users, who are locked, and returns how many rows were
-- looked at. A period that ends within the notice is announced once more, before its end; one that is
-- shorter, or is known late, at once.
--
-- Users whose rows or changes are refused stay due, and hold nobody else up while they are few: rows_max
-- of them fill every call.
CREATE FUNCTION announce_boundaries_of(users text[], present timestamptz, notice interval)
RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    half CONSTANT integer := cardinality(users) / 2;
    row_count bigint;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT held.*, boundary_after(held.periods, present) AS later,
            coalesce(boundary_after(held.periods, present) <= present + nullif(notice, '0'), false)
                AS is_near
        FROM (
            SELECT user_id, environment, bundle_id, original_transaction_id, NULL::bigint AS grant_id,
                entitlement_key, periods, ownership_type, seats, additional_transaction_reason,
                next_boundary, is_noticed
            FROM entitlements WHERE user_id = ANY (users)
            UNION ALL
            SELECT user_id, environment, NULL, NULL, grant_id, entitlement_key, periods, NULL, NULL,
                NULL, next_boundary, is_noticed
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
            additional_transaction_reason, cause, cause_id, event)
        SELECT happened.user_id,
            given.version - count(*) OVER (PARTITION BY happened.user_id) + happened.place,
            happened.environment, happened.bundle_id, happened.original_transaction_id,
            happened.grant_id, happened.entitlement_key, happened.periods, happened.periods,
            happened.ownership_type, happened.seats, happened.additional_transaction_reason, 'time',
            instant_text(happened.at), happened.event
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

-- Announces the boundaries that are due, each once, and returns how many rows were looked at. At most a
-- thousand users are locked at a time, as the server's table of locks is small.
--
-- A user whose rows are being changed is left for the next call, so the function never waits for another
-- transaction that may wait for this one. The others are locked like by all who write changes: no
-- boundary is announced that a fact has moved before, and none twice.
CREATE FUNCTION announce_boundaries(rows_max bigint, notice interval DEFAULT '0') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
DECLARE
    present CONSTANT timestamptz := clock_timestamp();
    free text[];
BEGIN
    PERFORM require_read_committed();
    WITH concerned AS MATERIALIZED (
        SELECT DISTINCT due.user_id
        FROM due_boundaries(present, notice, least(rows_max, 1000)) AS due
    )
    SELECT array_agg(concerned.user_id ORDER BY concerned.user_id) INTO free FROM concerned
    WHERE pg_try_advisory_xact_lock(
        hashtextextended('user' || chr(9) || concerned.user_id, 0));
    RETURN CASE WHEN free IS NULL THEN 0 ELSE announce_boundaries_of(free, present, notice) END;
END
$$;

REVOKE EXECUTE ON FUNCTION announce_boundaries, announce_boundaries_of, find_next_boundary FROM PUBLIC;

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
        'cause', change.cause, 'cause_id', change.cause_id, 'event', change.event,
        'catalog_version', change.catalog_version,
        'source', change.source_topic || '/' || change.source_partition || '/' || change.source_offset);
