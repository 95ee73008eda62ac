-- What deduplication remembers. It may be emptied at any moment: what is forgotten goes on once
-- more, and the facts, whose horizon has no end, take nothing from it twice. So the tables are
-- UNLOGGED: half the cost, and empty after a crash of the server or on a promoted replica.

CREATE UNLOGGED TABLE dedupe_revisions (
    kind text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    -- Empty where the kind has none.
    bundle_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    -- What never changes for a transaction ID, to tell a conflict by.
    original_transaction_id text COLLATE "C",
    product_id text COLLATE "C",
    purchase_date_ms bigint,
    product_type text COLLATE "C",
    quantity integer,
    -- For pruning by age; not indexed, so that a mark stays a heap-only update.
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, kind, environment, bundle_id, trust, track)
) WITH (fillfactor = 80);

CREATE UNLOGGED TABLE dedupe_notifications (
    environment text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (uuid, environment)
);

-- Forgets what was marked before the instant; returns how many rows that were.
CREATE FUNCTION dedupe_prune(before timestamptz) RETURNS bigint
    LANGUAGE sql
BEGIN ATOMIC
    WITH revisions AS (
        DELETE FROM dedupe_revisions WHERE marked_at < dedupe_prune.before RETURNING 1
    ), notifications AS (
        DELETE FROM dedupe_notifications WHERE marked_at < dedupe_prune.before RETURNING 1
    )
    SELECT (SELECT count(*) FROM revisions) + (SELECT count(*) FROM notifications);
END;
