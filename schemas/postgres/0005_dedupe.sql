-- The memory of deduplication. It may be emptied at any moment: a forgotten record is forwarded once
-- more, and the facts, which are kept forever, count nothing twice. So the tables are UNLOGGED: half
-- the cost, and empty after a crash of the server or on a promoted replica.

CREATE UNLOGGED TABLE dedupe_revisions (
    kind text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    -- Empty if the kind has none.
    bundle_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    -- Members that never change for a transaction ID, to detect a conflict.
    original_transaction_id text COLLATE "C",
    product_id text COLLATE "C",
    purchase_date_ms bigint,
    product_type text COLLATE "C",
    quantity integer,
    -- For pruning by age; not indexed, so that a mark stays a heap-only update.
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, kind, environment, bundle_id, trust, track)
) WITH (fillfactor = 80);

COMMENT ON TABLE dedupe_revisions IS
    'The newest revision of each ID that went on. Written by dedupe-worker, kept for '
    'dedupe.retention after it was marked.';

CREATE UNLOGGED TABLE dedupe_notifications (
    environment text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (uuid, environment)
);

COMMENT ON TABLE dedupe_notifications IS
    'The UUIDs of notifications that went on. Written by dedupe-worker, kept for dedupe.retention '
    'after they were marked.';

-- Forgets IDs that were marked before the instant, in some pages of the tables: pruning goes through
-- them in small steps, none of which holds a lock for long.
--
-- Returns whether there are pages beyond these.
CREATE FUNCTION dedupe_prune(before timestamptz, first_page bigint, page_count bigint)
    RETURNS boolean
    LANGUAGE plpgsql AS
$$
DECLARE
    first tid := format('(%s,0)', first_page)::tid;
    beyond tid := format('(%s,0)', first_page + page_count)::tid;
BEGIN
    DELETE FROM dedupe_revisions
    WHERE ctid >= first AND ctid < beyond AND marked_at < before;
    DELETE FROM dedupe_notifications
    WHERE ctid >= first AND ctid < beyond AND marked_at < before;
    RETURN greatest(
        pg_relation_size('dedupe_revisions'), pg_relation_size('dedupe_notifications')
    ) > (first_page + page_count) * current_setting('block_size')::bigint;
END
$$;
