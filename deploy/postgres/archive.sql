-- Moves history that no program reads any more into files, and out of its tables: superseded rows of
-- revisions and changes, and notifications. These stay: the newest content of each key, contents with a
-- span, a receipt's revocation or a name that the newest one lacks, the newest change of each
-- entitlement, and unpublished changes.
--
--   psql --no-psqlrc --set older_than='400 days' --set folder=/srv/history \
--       --file deploy/postgres/archive.sql "$DATABASE_URL"
--
-- Run it as the owner of the tables, and not beside `pipeline rebuild --replace`. One run is one transaction
-- and takes up to 20,000 rows of each table (--set rows=N); it prints how many, so repeat it until they are
-- 0. The rows are in the files, and the files on disk, before the deletion begins: an interrupted run leaves
-- rows in both, never in neither. `history_archives` lists the files of runs that were not interrupted;
-- delete others. entitle-worker waits while rows are deleted, a second or less.
--
-- The age has to be above the retention of the topic raw and of every backup of bodies that may be
-- published again. The files hold payloads and account tokens: protect them like a backup. These commands
-- read one again:
--
--   CREATE TABLE archived (LIKE changes);
--   \copy archived FROM '/srv/history/changes-20261128T040011123Z.csv' CSV HEADER

\set ON_ERROR_STOP on
\if :{?rows} \else \set rows 20000 \endif
\if :{?older_than_min} \else \set older_than_min '30 days' \endif

BEGIN;
SET LOCAL lock_timeout = '5s';
SELECT :'older_than'::interval < :'older_than_min'::interval AS is_too_young \gset
\if :is_too_young
SELECT 'older_than has to be at least 30 days'::interval;
\endif
-- Another run takes the same rows.
SELECT FROM pg_advisory_xact_lock(hashtextextended('history archive', 0)) \g /dev/null
SELECT clock_timestamp() - :'older_than'::interval AS before,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISSMS"Z"') AS stamp \gset

-- A content is superseded if the content that replaced it was recorded before the instant too.
CREATE TEMPORARY VIEW superseded_revisions AS
SELECT old.ctid AS position, old.recorded_at, newest.recorded_at AS replaced_at
FROM revisions AS old
LEFT JOIN transactions AS purchase ON old.kind = 'transaction'
    AND (purchase.transaction_id, purchase.environment, purchase.bundle_id, purchase.track)
        = (old.id, old.environment, old.bundle_id, old.track)
LEFT JOIN renewals AS renewal ON old.kind = 'renewal'
    AND (renewal.original_transaction_id, renewal.environment, renewal.trust)
        = (old.id, old.environment, old.trust)
LEFT JOIN app_downloads AS download ON old.kind = 'app_transaction'
    AND (download.app_transaction_id, download.environment, download.bundle_id)
        = (old.id, old.environment, old.bundle_id)
JOIN revisions AS newest
    ON (newest.id, newest.kind, newest.environment, newest.bundle_id, newest.trust, newest.track)
        = (old.id, old.kind, old.environment, old.bundle_id, old.trust, old.track)
    AND newest.content_hash = coalesce(
        purchase.content_hash, renewal.content_hash, download.content_hash)
WHERE newest.content_hash <> old.content_hash
    AND purchase.revoked_content_hash IS DISTINCT FROM old.content_hash
    AND coalesce(purchase.token_content_hash, renewal.token_content_hash)
        IS DISTINCT FROM old.content_hash
    AND coalesce(purchase.app_transaction_content_hash, renewal.app_transaction_content_hash)
        IS DISTINCT FROM old.content_hash
    AND CASE
        -- PostgreSQL reads no member of a payload with an escape that it cannot store.
        WHEN strpos(old.payload::text || newest.payload::text, '\u') > 0 THEN false
        ELSE old.payload ->> 'gracePeriodExpiresDate' IS NULL
            -- Rows of versions before 1.4 do not say which content names their owner.
            AND (old.payload ->> 'appAccountToken' IS NULL
                OR newest.payload ->> 'appAccountToken' IS NOT NULL)
            AND (old.payload ->> 'appTransactionId' IS NULL
                OR newest.payload ->> 'appTransactionId' IS NOT NULL)
    END;

CREATE TEMPORARY TABLE old_revisions ON COMMIT DROP AS
SELECT position FROM superseded_revisions
WHERE recorded_at < :'before' AND replaced_at < :'before' LIMIT :rows;
CREATE TEMPORARY TABLE old_changes ON COMMIT DROP AS
SELECT old.ctid AS position FROM changes AS old
WHERE old.changed_at < :'before' AND EXISTS (
    SELECT FROM changes AS newer
    WHERE newer.user_id = old.user_id AND newer.version > old.version
        AND newer.environment = old.environment
        AND newer.bundle_id IS NOT DISTINCT FROM old.bundle_id
        AND newer.original_transaction_id IS NOT DISTINCT FROM old.original_transaction_id
        AND newer.grant_id IS NOT DISTINCT FROM old.grant_id
        AND newer.entitlement_key = old.entitlement_key
        AND newer.changed_at < :'before'
) AND NOT EXISTS (
    SELECT FROM unpublished_changes AS waiting
    WHERE (waiting.user_id, waiting.version) = (old.user_id, old.version)
) LIMIT :rows;
CREATE TEMPORARY TABLE old_notifications ON COMMIT DROP AS
SELECT ctid AS position FROM notifications WHERE recorded_at < :'before' LIMIT :rows;
ANALYZE old_revisions, old_changes, old_notifications;

-- \copy takes no variables, so COPY writes to psql, which writes files that its user alone may read.
\set revisions_file :folder '/revisions-' :stamp '.csv'
\set changes_file :folder '/changes-' :stamp '.csv'
\set notifications_file :folder '/notifications-' :stamp '.csv'
\setenv FOLDER :folder
\setenv REVISIONS :revisions_file
\setenv CHANGES :changes_file
\setenv NOTIFICATIONS :notifications_file
\set is_made `umask 077; : >"$REVISIONS" && : >"$CHANGES" && : >"$NOTIFICATIONS" && echo on || echo off`
\if :is_made \else
SELECT 'the folder cannot be written to, nothing is deleted'::interval;
\endif
COPY (SELECT revisions.* FROM revisions JOIN old_revisions ON revisions.ctid = position)
TO STDOUT (FORMAT csv, HEADER) \g :revisions_file
COPY (SELECT changes.* FROM changes JOIN old_changes ON changes.ctid = position)
TO STDOUT (FORMAT csv, HEADER) \g :changes_file
COPY (SELECT notifications.* FROM notifications JOIN old_notifications ON notifications.ctid = position)
TO STDOUT (FORMAT csv, HEADER) \g :notifications_file
\set is_synced `sync -- "$REVISIONS" "$CHANGES" "$NOTIFICATIONS" "$FOLDER" && echo on || echo off`
\if :is_synced \else
SELECT 'the files are not on disk, nothing is deleted'::interval;
\endif

-- Every transaction of entitle-worker shares this lock, and may have made a content the newest again: that
-- one stays, in the file too. A lock for each purchase would exceed the server's table of locks.
SELECT FROM pg_advisory_xact_lock(hashtextextended('catalog', 0)) \g /dev/null
WITH gone_revisions AS (
    DELETE FROM revisions WHERE ctid IN (
        SELECT position FROM superseded_revisions JOIN old_revisions USING (position)
        WHERE superseded_revisions.replaced_at < :'before')
    RETURNING 1
), gone_changes AS (
    DELETE FROM changes WHERE ctid IN (SELECT position FROM old_changes) RETURNING 1
), gone_notifications AS (
    DELETE FROM notifications WHERE ctid IN (SELECT position FROM old_notifications) RETURNING 1
), archived (table_name, row_count, file) AS (
    SELECT 'revisions', count(*), :'revisions_file' FROM gone_revisions
    UNION ALL SELECT 'changes', count(*), :'changes_file' FROM gone_changes
    UNION ALL SELECT 'notifications', count(*), :'notifications_file' FROM gone_notifications
), noted AS (
    INSERT INTO history_archives (table_name, archived_before, finished_at, row_count, file)
    SELECT table_name, :'before', clock_timestamp(), row_count, file
    FROM archived WHERE row_count > 0
)
SELECT table_name, row_count FROM archived;
COMMIT;
-- Files of a heading alone.
\! for file in "$REVISIONS" "$CHANGES" "$NOTIFICATIONS"; do [ "$(wc -l <"$file")" -gt 1 ] || rm -- "$file"; done
