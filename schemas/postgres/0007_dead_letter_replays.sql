-- Dead letters that were sent again: who, when and why, which ones, and the outcome of each.

CREATE TABLE dead_letter_replays (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    who text COLLATE "C" NOT NULL CHECK (octet_length(who) BETWEEN 1 AND 255),
    why text NOT NULL CHECK (octet_length(why) BETWEEN 1 AND 2000),
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- In words.
    filter text NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    -- Maximum records per second.
    rate bigint NOT NULL CHECK (rate > 0),
    -- It stops if a larger share of the last ones is refused again.
    failing_share_max double precision NOT NULL CHECK (failing_share_max BETWEEN 0 AND 1),
    state text COLLATE "C" NOT NULL DEFAULT 'prepared' CHECK (
        state IN ('prepared', 'running', 'stopped', 'completed', 'interrupted')
    ),
    ended_at timestamptz,
    -- Why it was stopped or interrupted.
    note text NOT NULL DEFAULT ''
);

COMMENT ON TABLE dead_letter_replays IS
    'What auditors sent again. Written by dead-letter replay before the first record leaves, kept '
    'forever. A running one whose session lock nobody holds was interrupted.';

CREATE TABLE dead_letter_replay_records (
    replay bigint NOT NULL REFERENCES dead_letter_replays,
    ordinal bigint NOT NULL,
    dead_letter_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C",
    -- The body, to which the dead letters of later stages point; a body that is sent again becomes
    -- another record.
    raw text COLLATE "C",
    sent_at timestamptz,
    sent_topic text COLLATE "C",
    sent_partition integer,
    sent_offset bigint,
    -- NULL until it is decided.
    outcome text COLLATE "C" CHECK (outcome IN ('accepted', 'refused', 'unsent', 'unknown')),
    outcome_reason text NOT NULL DEFAULT '',
    -- The new dead letter if it was refused again.
    refused_as text COLLATE "C",
    outcome_at timestamptz,
    PRIMARY KEY (replay, ordinal),
    CHECK ((sent_at IS NULL) = (sent_topic IS NULL)),
    CHECK ((sent_at IS NULL) = (sent_partition IS NULL)),
    CHECK ((sent_at IS NULL) = (sent_offset IS NULL)),
    CHECK ((outcome IS NULL) = (outcome_at IS NULL))
);

COMMENT ON TABLE dead_letter_replay_records IS
    'Each dead letter of a replay, where it was sent and what became of it. Written by dead-letter '
    'replay, kept forever.';

-- A letter is held by one replay at a time, until its outcome is known.
CREATE UNIQUE INDEX dead_letter_replay_records_held
    ON dead_letter_replay_records (dead_letter_id) WHERE outcome IS NULL;
CREATE INDEX dead_letter_replay_records_letter
    ON dead_letter_replay_records (dead_letter_id, replay);

CREATE TABLE dead_letter_replay_positions (
    replay bigint NOT NULL REFERENCES dead_letter_replays,
    letter_partition integer NOT NULL,
    next_offset bigint NOT NULL,
    PRIMARY KEY (replay, letter_partition)
);

COMMENT ON TABLE dead_letter_replay_positions IS
    'How far a replay has read the dead-letter topic for records that were refused again; at first '
    'its end before the first record was sent. Written by dead-letter replay.';
