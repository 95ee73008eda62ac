-- Tables that only grow: the archives of the history with their files, and the autovacuum settings
-- of each table. README.md beside this file says how long each table is kept.

CREATE TABLE history_archives (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- revisions, changes or notifications.
    table_name text COLLATE "C" NOT NULL,
    -- Rows superseded (notifications: recorded) before this instant were archived.
    archived_before timestamptz NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null while it runs, and if it was interrupted; then another archive holds the rest.
    finished_at timestamptz,
    -- How many rows its file holds.
    row_count bigint,
    file text NOT NULL,
    -- When its rows were put back.
    restored_at timestamptz
);

COMMENT ON TABLE history_archives IS
    'What was taken out of the history, up to when, and in which file it lies. Written by '
    '`pipeline history`, kept forever.';

-- Whether the history of entitlements is complete from an instant on; raises HA001 if it is not, so
-- that no incomplete answer about that time is given.
CREATE FUNCTION require_history(known_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS
$$
DECLARE
    kept_since timestamptz;
BEGIN
    SELECT max(archived_before) INTO kept_since FROM history_archives
    WHERE table_name = 'changes' AND restored_at IS NULL;
    IF known_at < kept_since THEN
        RAISE EXCEPTION 'what was known before % is archived: run pipeline history restore',
            kept_since USING ERRCODE = 'HA001';
    END IF;
    RETURN true;
END
$$;

-- Raises HA001 for an instant whose history is archived.
CREATE OR REPLACE FUNCTION entitlements_as_known(
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
        AND require_history(entitlements_as_known.known_at) AND NOT isempty(newest.new_periods);
END;

COMMENT ON TABLE revisions IS
    'Every content ever seen, once per key, with the raw record that first brought it. Written '
    'by entitle-worker: facts can be read from them again. `pipeline history archive` takes '
    'out what was superseded long ago; the newest of each key is kept forever.';
COMMENT ON TABLE notifications IS
    'Every genuine notification, also those that carry no fact. History, never a source of rights. '
    'Written by entitle-worker; `pipeline history archive` takes out old ones.';
COMMENT ON TABLE changes IS
    'What a user could use before and after, and why it became different. Written by '
    'entitle-worker and by the functions of grants; `pipeline history archive` takes out what was '
    'superseded long ago, and never the newest of an entitlement.';

-- Autovacuum's own thresholds are shares of a table: a fifth of a billion rows may be dead before it
-- runs, and an index grows by as much, or be new before it marks the pages that index-only scans rely
-- on. A fiftieth at most keeps each run small.

-- Rows are added, and removed only by `pipeline history`.
ALTER TABLE revisions SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_analyze_scale_factor = 0.02, toast.autovacuum_vacuum_insert_scale_factor = 0.02,
    toast.autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE changes SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE notifications SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE grace_periods SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ownership_claims SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ledger_debits SET (
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Rows are added and changed in place.
ALTER TABLE transactions SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE renewals SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE app_downloads SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ownership_facts SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ownership_renewals SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE owners SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE entitlements SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE closed_periods SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE stacked_purchases SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE ledger SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE user_versions SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE account_links SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);

-- Rows are marked again and forgotten by age; an index of forgotten keys is all that grows.
ALTER TABLE dedupe_revisions SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE dedupe_notifications SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05);

-- Rows come and go: the table stays as small as the waiting rows, however many have passed.
ALTER TABLE account_link_changes SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE feed_repetitions SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
