-- What a copy of the worker had handed over when it was killed may be served after what the next one
-- publishes, and entitlements.current would end in an older version of a user than the newest. So it
-- is known what was handed over, and the newest states of the users concerned are published again.
ALTER TABLE feed_lease
    -- The place in the outbox of the last change in work; 0 where all is acknowledged.
    ADD COLUMN handed_over_through bigint NOT NULL DEFAULT 0,
    -- Up to which place changes were handed over that nobody has heard of since.
    ADD COLUMN suspect_through bigint NOT NULL DEFAULT 0;

-- Users whose newest state goes into the outbox once more, and when.
CREATE TABLE feed_repetitions (
    user_id text COLLATE "C" PRIMARY KEY,
    due timestamptz NOT NULL
);
