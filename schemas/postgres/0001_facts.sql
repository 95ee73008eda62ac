-- Facts: what Apple signed, newest revision of each, and every content ever seen.
--
-- Dates are Apple's own UNIX milliseconds (columns "..._ms"), so that nothing is rounded; views
-- show them as timestamptz. Payloads are json and never jsonb, which rewrites numbers and refuses
-- some. Keys are compared byte by byte (COLLATE "C"): cheaper, and the same order as the workers'.
-- Indexes begin with the ID, which tells most rows apart by itself; environment and bundle ID are
-- part of every key all the same.

CREATE FUNCTION timestamptz_from_ms(ms bigint) RETURNS timestamptz
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    RETURN to_timestamp(ms / 1000) + (ms % 1000) * interval '1 millisecond';

COMMENT ON FUNCTION timestamptz_from_ms IS 'Exact, unlike to_timestamp(ms / 1000.0).';

-- One row per transaction ID and track: what a JWS says and what a receipt says stand side by side
-- and are made one when they are read.
CREATE TABLE transactions (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL CHECK (track IN ('jws', 'receipt')),
    -- The revision: the newest signed date, of equal dates the greater content hash.
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    trust text COLLATE "C" NOT NULL,
    -- What never changes for a transaction ID.
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    product_type text COLLATE "C",
    quantity integer,
    -- What may.
    expires_date_ms bigint,
    revocation_date_ms bigint,
    revocation_percentage integer,
    revocation_reason integer,
    revocation_type text COLLATE "C",
    is_upgraded boolean,
    is_family_shared boolean NOT NULL,
    subscription_group_id text COLLATE "C",
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    -- The items of an Advanced Commerce purchase, as Apple wrote them.
    items json,
    PRIMARY KEY (transaction_id, environment, bundle_id, track)
) WITH (fillfactor = 90);

COMMENT ON TABLE transactions IS
    'The newest signed revision of each transaction; its payload is in revisions.';

-- A purchase is projected from all its transactions.
CREATE INDEX transactions_of_purchase
    ON transactions (original_transaction_id, environment, bundle_id);

-- Renewal info names no app: it joins the purchases of its original transaction ID whose
-- transactions the same trust vouched for.
CREATE TABLE renewals (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    product_id text COLLATE "C",
    auto_renew_product_id text COLLATE "C",
    auto_renew_status integer,
    is_in_billing_retry boolean,
    expiration_intent integer,
    renewal_date_ms bigint,
    grace_period_expires_date_ms bigint,
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment, trust)
) WITH (fillfactor = 80);

COMMENT ON TABLE renewals IS
    'The newest signed renewal info of each subscription; its payload is in revisions.';

-- Rows are only ever added: the newest renewal info no longer names an earlier grace.
CREATE TABLE grace_periods (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    expires_date_ms bigint NOT NULL,
    -- When the period that could not be renewed ended; null where Apple did not say.
    renewal_date_ms bigint,
    UNIQUE NULLS NOT DISTINCT
        (original_transaction_id, environment, trust, expires_date_ms, renewal_date_ms)
);

COMMENT ON TABLE grace_periods IS 'Every billing grace period that was ever granted.';

-- The history of what was learned, once per key and content, with where it was first read.
CREATE TABLE revisions (
    kind text COLLATE "C" NOT NULL
        CHECK (kind IN ('transaction', 'renewal', 'app_transaction')),
    environment text COLLATE "C" NOT NULL,
    -- Empty for renewal info, which has none: a primary key holds no null.
    bundle_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- Empty for all but renewal info, where it is part of what is known under one ID.
    trust text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    -- Of the first signature that carried this content.
    signed_date_ms bigint NOT NULL,
    payload json NOT NULL,
    notification_uuid text COLLATE "C",
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    source_index integer NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, kind, environment, bundle_id, trust, track, content_hash)
);

COMMENT ON TABLE revisions IS
    'Every content ever seen, once per key, with the raw record that first brought it.';

CREATE TABLE notifications (
    environment text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    subtype text COLLATE "C",
    -- What type and subtype mean here; "unknown_..." asks for somebody's attention.
    meaning text COLLATE "C" NOT NULL,
    signed_date_ms bigint,
    original_transaction_id text COLLATE "C",
    transaction_id text COLLATE "C",
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (uuid, environment)
);

COMMENT ON TABLE notifications IS
    'Every genuine notification, also those that carry no fact. History, never a source of rights.';
