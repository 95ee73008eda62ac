-- A run over Apple's notification history reads several slices of its window side by side. Each has
-- its own page token, beside the bounds that Apple accepts the token with.

CREATE TABLE recovery_slices (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    job text COLLATE "C" NOT NULL,
    number int NOT NULL,
    from_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    page_token text,
    page_number bigint NOT NULL DEFAULT 0,
    -- How often it was begun again, or left for later.
    delay_count int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, environment, job, number),
    FOREIGN KEY (bundle_id, environment, job)
        REFERENCES recovery_windows (bundle_id, environment, job) ON DELETE CASCADE
) WITH (fillfactor = 50);

COMMENT ON TABLE recovery_slices IS
    'The days of a run''s window that are not read yet. Written by recovery-worker, after the broker '
    'has acknowledged what was published of a page; removed once read.';

-- Counted in one row, as the last two slices may end at the same time.
ALTER TABLE recovery_windows ADD slices_left int NOT NULL DEFAULT 0;

COMMENT ON COLUMN recovery_windows.read_until_ms IS
    'Where a run of the version before has got to; null otherwise. So is page_token.';

-- A notification counts as on its way for an hour from then on, however often it is published again.
ALTER TABLE apple_notifications ADD first_published_at timestamptz;
