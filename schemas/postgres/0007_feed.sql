-- The change feed: what users may use, on its way to those who follow it.

-- A version's time is taken under the user's lock, so it is never before that of an earlier one.
ALTER TABLE changes ALTER COLUMN changed_at SET DEFAULT clock_timestamp();

-- The outbox: changes that are committed and not published yet. A row goes when the broker has
-- acknowledged what it stands for.
CREATE TABLE unpublished_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

INSERT INTO unpublished_changes (user_id, version)
SELECT user_id, version FROM changes ORDER BY changed_at, user_id, version;

-- Whoever appends to the history, publishes: in the same transaction, and in the versions' order,
-- because the next version of a user waits for this one's commit.
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

-- Which copy of the worker publishes. It hands a record over only while so much of its lease is left
-- that the record is delivered or given up before another copy may begin.
CREATE TABLE feed_lease (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    holder text NOT NULL,
    until timestamptz NOT NULL
);
