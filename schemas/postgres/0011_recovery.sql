-- What Apple's server lists and is asked for, so that nothing that it has sent stays missing.

CREATE TABLE apple_notifications (
    environment text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    -- The app that Apple's server was asked for.
    bundle_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    listed_at timestamptz NOT NULL DEFAULT now(),
    -- Null unless recovery-worker has published it.
    published_at timestamptz,
    -- held: it is, or was, in notifications. Null until it is known.
    outcome text COLLATE "C" CHECK (outcome IN ('held', 'ignored', 'dead_lettered')),
    -- A part of the correlation ID under which it is published, so that nobody else can write one.
    nonce uuid NOT NULL DEFAULT gen_random_uuid(),
    PRIMARY KEY (uuid, environment)
) WITH (fillfactor = 90);

COMMENT ON TABLE apple_notifications IS
    'Every notification that Apple''s server has listed, and what became of it here. Its members '
    'are read before anything is verified: they decide what is published, and grant nothing. '
    'Written by recovery-worker, which removes what Apple no longer lists.';

-- The few whose outcome is unknown, among up to 180 days of them.
CREATE INDEX apple_notifications_open ON apple_notifications (signed_date_ms)
    WHERE outcome IS NULL;

CREATE TABLE recovery_windows (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    -- missed: failed deliveries of the last days; complete: all that Apple keeps.
    job text COLLATE "C" NOT NULL CHECK (job IN ('missed', 'complete')),
    due_at timestamptz NOT NULL DEFAULT now(),
    -- The run in progress; null between runs.
    started_at timestamptz,
    window_from_ms bigint,
    window_until_ms bigint,
    -- The window has been read up to here, and the slice after it up to this page.
    read_until_ms bigint,
    page_token text,
    page_number bigint NOT NULL DEFAULT 0,
    listed_count bigint NOT NULL DEFAULT 0,
    published_count bigint NOT NULL DEFAULT 0,
    -- Entries without a notification in them, of the run in progress.
    unreadable_count bigint NOT NULL DEFAULT 0,
    -- The last run that was read to its end.
    completed_at timestamptz,
    completed_from_ms bigint,
    completed_until_ms bigint,
    completed_unreadable_count bigint NOT NULL DEFAULT 0,
    -- Purchases from here on are finished at Apple; null if none is.
    finish_from_ms bigint,
    PRIMARY KEY (bundle_id, environment, job)
) WITH (fillfactor = 50);

COMMENT ON TABLE recovery_windows IS
    'How far each app''s notification history has been read. Written by recovery-worker, after the '
    'broker has acknowledged what was published of a page; two rows for each app, kept forever.';

CREATE TABLE recovery_requests (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (
        kind IN ('subscriptions', 'transactions', 'refunds', 'order', 'finish')
    ),
    -- A transaction ID, or the ID of an order.
    subject text COLLATE "C" NOT NULL CHECK (is_identifier(subject)),
    requested_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    -- The cursor of a history; null before its first page.
    revision text,
    published_count bigint NOT NULL DEFAULT 0,
    finished_at timestamptz,
    -- Why it ended, in a word: done, not_found, refused.
    result text COLLATE "C",
    PRIMARY KEY (subject, kind, environment, bundle_id)
) WITH (fillfactor = 80);

COMMENT ON TABLE recovery_requests IS
    'What recovery-worker asks Apple about single purchases and orders. Written by it, by '
    '`pipeline recover apple` and by a trigger of transactions; removed some days after the answer.';

-- Each kind has a limit of Apple's, so that none waits behind the others.
CREATE INDEX recovery_requests_due ON recovery_requests (bundle_id, environment, kind, due_at)
    WHERE finished_at IS NULL;

CREATE TABLE recovery_limits (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    -- The endpoint: notifications, or a kind of recovery_requests.
    endpoint text COLLATE "C" NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (bundle_id, environment, endpoint)
);

COMMENT ON TABLE recovery_limits IS
    'Until when Apple''s server has asked to be left alone (Retry-After), so that a copy that takes '
    'over waits too. Written by recovery-worker; a few rows for each app, kept forever.';

-- A purchase is to be finished at Apple once its row is committed, which is by the same transaction.
CREATE FUNCTION finish_purchases() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO recovery_requests (environment, bundle_id, kind, subject)
    SELECT DISTINCT added.environment, added.bundle_id, 'finish', added.transaction_id
    FROM added JOIN recovery_windows AS app
        ON app.bundle_id = added.bundle_id AND app.environment = added.environment
        AND app.job = 'complete' AND app.finish_from_ms <= added.purchase_date_ms
    WHERE is_identifier(added.transaction_id)
    ORDER BY added.transaction_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- As in 0010_privileges.sql.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
ALTER FUNCTION finish_purchases SECURITY DEFINER SET search_path FROM CURRENT;
REVOKE EXECUTE ON FUNCTION finish_purchases FROM PUBLIC;

CREATE TRIGGER finished AFTER INSERT ON transactions REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION finish_purchases();
