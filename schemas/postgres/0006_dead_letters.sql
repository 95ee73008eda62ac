-- The searchable parts of the dead-letter topic, and the actions of people on dead letters.
--
-- The topic holds the letters: dead_letters and its counts may be emptied and are built again from
-- there. The actions are stored here alone, and forever.

CREATE TABLE dead_letters (
    id text COLLATE "C" PRIMARY KEY,
    -- The position of the copy that counts in the dead-letter topic: the first that matches its link.
    letter_partition integer NOT NULL,
    letter_offset bigint NOT NULL,
    copies bigint NOT NULL,
    failed_at timestamptz NOT NULL,
    reason text COLLATE "C" NOT NULL,
    class text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    detail text NOT NULL,
    value_state text COLLATE "C" NOT NULL,
    omitted text,
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    source_at timestamptz,
    source_sha256 text COLLATE "C" NOT NULL,
    -- The body that an observation came from.
    raw_topic text COLLATE "C",
    raw_partition integer,
    raw_offset bigint,
    -- The original's statements about itself, unverified.
    transaction_id text COLLATE "C",
    original_transaction_id text COLLATE "C",
    bundle_id text COLLATE "C",
    environment text COLLATE "C",
    product_id text COLLATE "C",
    signed_at timestamptz,
    leaf_sha256 text COLLATE "C",
    intermediate_sha256 text COLLATE "C",
    root_sha256 text COLLATE "C",
    -- The original's producer, if its headers name it.
    producer text COLLATE "C",
    verifier_version text NOT NULL,
    config_sha256 text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    worker text COLLATE "C" NOT NULL,
    -- The dead letter that the original was replayed from.
    replay_of text COLLATE "C",
    chain_sha256 text COLLATE "C",
    chain_previous text COLLATE "C",
    -- The digest of everything that copies have in common and their links cover.
    contents_sha256 text COLLATE "C" NOT NULL,
    -- Why the letter is not to be trusted; null if it matches its link.
    doubt text,
    -- Whether copies that match their links contradict each other.
    is_disputed boolean NOT NULL,
    -- By reason, certificates, bundle ID, source topic and producer.
    group_id text COLLATE "C" NOT NULL,
    -- Copied from dead_letter_states, so that a list of one state is read from an index.
    state text COLLATE "C" NOT NULL CHECK (
        state IN ('open', 'replayed', 'resolved', 'suppressed')
    )
);

COMMENT ON TABLE dead_letters IS
    'One row for each dead letter, of the copy that counts, without value, key or token. Written by '
    '`dead-letter index`; may be emptied and built again from the topic.';

-- The columns counted in dead_letter_hours need no index of their own: the counts name the hours and
-- groups with letters of a reason, state, worker and so on, and the index of groups finds them.
CREATE INDEX dead_letters_failed_at ON dead_letters (failed_at, id);
CREATE INDEX dead_letters_group ON dead_letters (group_id, failed_at);
CREATE INDEX dead_letters_product ON dead_letters (product_id, failed_at)
    WHERE product_id IS NOT NULL;
CREATE INDEX dead_letters_transaction ON dead_letters (transaction_id)
    WHERE transaction_id IS NOT NULL;
CREATE INDEX dead_letters_original_transaction ON dead_letters (original_transaction_id)
    WHERE original_transaction_id IS NOT NULL;
CREATE INDEX dead_letters_source ON dead_letters (source_topic, source_partition, source_offset);
CREATE INDEX dead_letters_raw ON dead_letters (raw_topic, raw_partition, raw_offset)
    WHERE raw_topic IS NOT NULL;
CREATE INDEX dead_letters_position ON dead_letters (letter_partition, letter_offset);
CREATE INDEX dead_letters_replay_of ON dead_letters (replay_of) WHERE replay_of IS NOT NULL;

-- Only the transaction that writes it reads it, so it needs neither log nor index.
CREATE UNLOGGED TABLE dead_letters_rebuilt (LIKE dead_letters);

COMMENT ON TABLE dead_letters_rebuilt IS
    'What the topic holds, to be compared with dead_letters. Written by '
    '`dead-letter index --rebuild`, and emptied at its end.';

CREATE TABLE dead_letter_progress (
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    -- Every record below it is indexed, or counted as no dead letter.
    next_offset bigint NOT NULL,
    foreign_records bigint NOT NULL DEFAULT 0,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition)
);

COMMENT ON TABLE dead_letter_progress IS
    'How far the dead-letter topic is indexed. Written by `dead-letter index` in the transaction '
    'of the rows, so that a record is counted once however often it is read.';

CREATE TABLE dead_letter_groups (
    group_id text COLLATE "C" PRIMARY KEY,
    reason text COLLATE "C" NOT NULL,
    leaf_sha256 text COLLATE "C",
    intermediate_sha256 text COLLATE "C",
    root_sha256 text COLLATE "C",
    bundle_id text COLLATE "C",
    source_topic text COLLATE "C" NOT NULL,
    producer text COLLATE "C"
);

COMMENT ON TABLE dead_letter_groups IS
    'What dead letters that look alike have in common. Written by triggers of dead_letters.';

CREATE TABLE dead_letter_hours (
    hour timestamptz NOT NULL,
    group_id text COLLATE "C" NOT NULL,
    class text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    worker text COLLATE "C" NOT NULL,
    -- Empty if the original names none.
    environment text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    letters bigint NOT NULL,
    PRIMARY KEY (hour, group_id, class, stage, worker, environment, state)
);

COMMENT ON TABLE dead_letter_hours IS
    'How many dead letters of a group failed in an hour, by what lists are counted by. Written by '
    'triggers of dead_letters.';

CREATE INDEX dead_letter_hours_group ON dead_letter_hours (group_id);

-- The hour in UTC, whatever the session's time zone is.
CREATE FUNCTION dead_letter_hour(failed_at timestamptz) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN date_trunc('hour', failed_at, 'UTC');

CREATE FUNCTION count_new_dead_letters() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO dead_letter_groups
    SELECT DISTINCT group_id, reason, leaf_sha256, intermediate_sha256, root_sha256, bundle_id,
        source_topic, producer
    FROM added ORDER BY group_id
    ON CONFLICT DO NOTHING;
    INSERT INTO dead_letter_hours AS known
    SELECT dead_letter_hour(failed_at), group_id, class, stage, worker, coalesce(environment, ''),
        state, count(*)
    FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, group_id, class, stage, worker, environment, state)
        DO UPDATE SET letters = known.letters + excluded.letters;
    RETURN NULL;
END
$$;

CREATE FUNCTION count_changed_dead_letters() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM removed) THEN
        RETURN NULL;
    END IF;
    INSERT INTO dead_letter_groups
    SELECT DISTINCT group_id, reason, leaf_sha256, intermediate_sha256, root_sha256, bundle_id,
        source_topic, producer
    FROM added ORDER BY group_id
    ON CONFLICT DO NOTHING;
    INSERT INTO dead_letter_hours AS known
    SELECT dead_letter_hour(failed_at), group_id, class, stage, worker, coalesce(environment, ''),
        state, sum(step)
    FROM (SELECT *, 1 AS step FROM added UNION ALL SELECT *, -1 FROM removed) AS changed
    GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(step) <> 0 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, group_id, class, stage, worker, environment, state)
        DO UPDATE SET letters = known.letters + excluded.letters;
    DELETE FROM dead_letter_hours
    WHERE letters = 0 AND hour IN (SELECT dead_letter_hour(failed_at) FROM removed);
    RETURN NULL;
END
$$;

CREATE FUNCTION count_removed_dead_letters() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO dead_letter_hours AS known
    SELECT dead_letter_hour(failed_at), group_id, class, stage, worker, coalesce(environment, ''),
        state, -count(*)
    FROM removed GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, group_id, class, stage, worker, environment, state)
        DO UPDATE SET letters = known.letters + excluded.letters;
    DELETE FROM dead_letter_hours
    WHERE letters = 0 AND hour IN (SELECT dead_letter_hour(failed_at) FROM removed);
    RETURN NULL;
END
$$;

CREATE FUNCTION forget_dead_letter_counts() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    TRUNCATE dead_letter_groups, dead_letter_hours, dead_letter_progress;
    RETURN NULL;
END
$$;

CREATE TRIGGER added AFTER INSERT ON dead_letters REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_new_dead_letters();
CREATE TRIGGER changed AFTER UPDATE ON dead_letters
    REFERENCING NEW TABLE AS added OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_changed_dead_letters();
CREATE TRIGGER removed AFTER DELETE ON dead_letters REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_removed_dead_letters();
-- After the table is emptied, the topic is indexed again from its beginning.
CREATE TRIGGER emptied AFTER TRUNCATE ON dead_letters
    FOR EACH STATEMENT EXECUTE FUNCTION forget_dead_letter_counts();

CREATE TABLE dead_letter_actions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who text COLLATE "C" NOT NULL CHECK (octet_length(who) BETWEEN 1 AND 255),
    action text COLLATE "C" NOT NULL CHECK (
        action IN (
            'resolved', 'suppressed', 'reopened', 'replayed', 'replay_accepted', 'replay_refused',
            'revealed', 'redacted', 'replay_started', 'replay_stopped',
            'replay_completed', 'signed_in', 'signed_out')
    ),
    why text,
    dead_letter_id text COLLATE "C",
    replay bigint,
    detail text,
    CONSTRAINT dead_letter_actions_name_a_letter CHECK (
        dead_letter_id IS NOT NULL OR action NOT IN (
            'resolved', 'suppressed', 'reopened', 'replayed', 'replay_accepted', 'replay_refused',
            'revealed', 'redacted')
    ),
    CONSTRAINT dead_letter_actions_say_why CHECK (
        coalesce(why, '') <> '' OR action NOT IN ('resolved', 'suppressed', 'reopened', 'redacted')
    )
);

COMMENT ON TABLE dead_letter_actions IS
    'Who did what about dead letters, when and why. Rows are only ever added, by `dead-letter`, '
    'and kept forever; a rebuild does not touch them.';

CREATE INDEX dead_letter_actions_letter ON dead_letter_actions (dead_letter_id, number)
    WHERE dead_letter_id IS NOT NULL;
-- A redaction in the topic counts only if it is recorded here.
CREATE INDEX dead_letter_actions_redacted ON dead_letter_actions (dead_letter_id)
    WHERE action = 'redacted';
CREATE INDEX dead_letter_actions_replay ON dead_letter_actions (replay, number)
    WHERE replay IS NOT NULL;

CREATE FUNCTION refuse_change_of_actions() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    RAISE EXCEPTION 'dead_letter_actions is append-only: % is refused', lower(TG_OP)
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dead_letter_actions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_actions();

CREATE TABLE dead_letter_states (
    id text COLLATE "C" PRIMARY KEY,
    state text COLLATE "C" NOT NULL,
    since timestamptz NOT NULL,
    -- The replay that sent it last, and its outcome; null if unknown (yet).
    replay bigint,
    outcome text COLLATE "C" CHECK (outcome IN ('accepted', 'refused')),
    who text COLLATE "C" NOT NULL
);

COMMENT ON TABLE dead_letter_states IS
    'The state of each dead letter that somebody has done something about; the others are open. '
    'Written by a trigger of dead_letter_actions.';

CREATE INDEX dead_letter_states_state ON dead_letter_states (state, since);

-- A late outcome of a replay does not override a decision made since.
--
-- The indexer shares the lock: a letter that is indexed for the first time at the same moment gets
-- its state either there, from the committed states, or here.
CREATE FUNCTION apply_dead_letter_actions() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (
        SELECT FROM added
        WHERE action IN (
            'resolved', 'suppressed', 'reopened', 'replayed', 'replay_accepted', 'replay_refused')
    ) THEN
        RETURN NULL;
    END IF;
    PERFORM lock_in_order(ARRAY['dead letter states']);
    INSERT INTO dead_letter_states AS known (id, state, since, replay, outcome, who)
    SELECT DISTINCT ON (dead_letter_id) dead_letter_id,
        CASE action
            WHEN 'resolved' THEN 'resolved'
            WHEN 'suppressed' THEN 'suppressed'
            WHEN 'replayed' THEN 'replayed'
            WHEN 'replay_accepted' THEN 'replayed'
            ELSE 'open'
        END,
        at, replay,
        CASE action WHEN 'replay_accepted' THEN 'accepted' WHEN 'replay_refused' THEN 'refused' END,
        who
    FROM added
    WHERE action IN (
        'resolved', 'suppressed', 'reopened', 'replayed', 'replay_accepted', 'replay_refused')
    ORDER BY dead_letter_id, number DESC
    ON CONFLICT (id) DO UPDATE SET
        state = excluded.state, since = excluded.since,
        replay = coalesce(excluded.replay, known.replay), outcome = excluded.outcome,
        who = excluded.who
    WHERE excluded.outcome IS NULL OR known.state IN ('open', 'replayed');
    UPDATE dead_letters AS letter SET state = known.state
    FROM dead_letter_states AS known
    WHERE known.id = letter.id AND letter.state <> known.state
        AND known.id IN (SELECT dead_letter_id FROM added);
    RETURN NULL;
END
$$;

CREATE TRIGGER applied AFTER INSERT ON dead_letter_actions REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION apply_dead_letter_actions();
