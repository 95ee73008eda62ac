-- Facts: what Apple signed, newest revision of each, and every content ever seen.
--
-- Dates are Apple's own UNIX milliseconds (columns "..._ms"), so that nothing is rounded; views
-- show them as timestamptz. Payloads are json and never jsonb, which rewrites numbers and refuses
-- some. Keys are compared byte by byte (COLLATE "C"): cheaper, and the same order as the workers'.
-- Indexes begin with the ID, which alone distinguishes most rows; environment and bundle ID are part
-- of every key nevertheless.

CREATE FUNCTION timestamptz_from_ms(ms bigint) RETURNS timestamptz
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    RETURN to_timestamp(ms / 1000) + (ms % 1000) * interval '1 millisecond';

COMMENT ON FUNCTION timestamptz_from_ms IS 'Exact, unlike to_timestamp(ms / 1000.0).';

-- Texts that people and services write into tables end up in keys and indexes of others, which hold
-- at most a few hundred bytes: longer texts are refused on entry.
CREATE FUNCTION is_identifier(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN octet_length(value) BETWEEN 1 AND 255
        -- Neither control characters nor those that turn a text around.
        AND value !~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]'
        -- No blank at an end: a reader cannot see it.
        AND value !~ '^[ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        AND value !~ '[ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$';

COMMENT ON FUNCTION is_identifier IS
    'Whether a text may name a user, a key or a debit: 1 to 255 bytes without control characters, '
    'bidirectional controls, and blanks at an end.';

-- Apple's environments, spelt as Apple spells them. A link or a grant of another one would concern no
-- purchase, and a question about it would be answered with "nothing": both are refused.
CREATE FUNCTION is_environment(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN value IN ('Production', 'Sandbox', 'Xcode', 'LocalTesting');

-- True for an environment; raises UE001 for any other text and for null, so that a misspelt question
-- is never answered "no" to a customer who has paid.
CREATE FUNCTION require_environment(environment text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
$$
BEGIN
    IF is_environment(environment) THEN
        RETURN true;
    END IF;
    RAISE EXCEPTION 'unknown environment %, known are Production, Sandbox, Xcode, LocalTesting',
        quote_nullable(left(environment, 64)) USING ERRCODE = 'UE001';
END
$$;

-- The statements of a JWS and of a receipt are stored side by side and merged on reading.
CREATE TABLE transactions (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL CHECK (track IN ('jws', 'receipt')),
    -- The revision: the newest signed date, of equal dates the greater content hash.
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    trust text COLLATE "C" NOT NULL,
    -- Members that never change for a transaction ID.
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    product_type text COLLATE "C",
    quantity integer,
    -- Members that may change.
    expires_date_ms bigint,
    revocation_date_ms bigint,
    revocation_percentage integer,
    revocation_reason integer,
    revocation_type text COLLATE "C",
    -- The signed date and content hash of the receipt that brought the revocation. A receipt lifts
    -- no revocation, not even one that an older receipt brought: its own signed date says how new
    -- that one is, and not the newest receipt's. Null without a revocation, and for a JWS,
    -- whose newest revision brings and lifts it.
    revoked_signed_date_ms bigint,
    revoked_content_hash bytea CHECK (length(revoked_content_hash) = 32),
    is_upgraded boolean,
    -- As Apple writes it (PURCHASED, FAMILY_SHARED, ASSIGNED); null in a receipt.
    ownership_type text COLLATE "C",
    subscription_group_id text COLLATE "C",
    -- One for each billed period, which may have several transaction IDs.
    web_order_line_item_id text COLLATE "C",
    transaction_reason text COLLATE "C",
    -- Why several transactions represent the period; null if one represents all of it.
    additional_transaction_reason text COLLATE "C",
    -- Seats that a refund took back without revoking the transaction: 0 for a multiseat purchase of
    -- which none were, null for any other.
    revoked_seat_quantity integer,
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    -- The items of an Advanced Commerce purchase, as Apple writes them.
    items json,
    PRIMARY KEY (transaction_id, environment, bundle_id, track)
) WITH (fillfactor = 90);

COMMENT ON TABLE transactions IS
    'The newest signed revision of each transaction ID, in each track; its payload is in '
    'revisions. Written by entitle-worker, kept forever.';

-- A purchase is projected from its transactions, a long one from those after its closed periods.
CREATE INDEX transactions_of_purchase_by_date
    ON transactions (original_transaction_id, environment, purchase_date_ms);

-- Renewal info names no app: it belongs to the purchases of its original transaction ID whose
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
    'The newest signed renewal info of each subscription; its payload is in revisions. Written by '
    'entitle-worker, kept forever.';

-- The newest renewal info no longer names an earlier grace.
CREATE TABLE grace_periods (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    expires_date_ms bigint NOT NULL,
    -- When the period that could not be renewed ended; null if Apple did not say.
    renewal_date_ms bigint,
    UNIQUE NULLS NOT DISTINCT
        (original_transaction_id, environment, trust, expires_date_ms, renewal_date_ms)
);

COMMENT ON TABLE grace_periods IS
    'Every billing grace period that was ever granted. Rows are only ever added, by '
    'entitle-worker, and kept forever.';

CREATE TABLE revisions (
    kind text COLLATE "C" NOT NULL
        CHECK (kind IN ('transaction', 'renewal', 'app_transaction')),
    environment text COLLATE "C" NOT NULL,
    -- Empty for renewal info, which has none: a primary key holds no null.
    bundle_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- Empty for all but renewal info, whose key it is part of.
    trust text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    -- The date of the first signature of this content.
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
    'Every content ever seen, once per key, with the raw record that first brought it. Rows are '
    'only ever added, by entitle-worker, and kept forever: facts can be read from them again.';

CREATE TABLE notifications (
    environment text COLLATE "C" NOT NULL,
    uuid text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    subtype text COLLATE "C",
    -- The meaning of type and subtype; "unknown_..." needs an operator's attention.
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
    'Every genuine notification, also those that carry no fact. History, never a source of rights. '
    'Rows are only ever added, by entitle-worker, and kept forever.';

-- Apple's statements about a person's copy of an app, apart from any purchase. It grants nothing by
-- itself; its ID links the purchases of family members and old purchases.
CREATE TABLE app_downloads (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    app_transaction_id text COLLATE "C" NOT NULL,
    -- The revision: the newest date of signing, of equal dates the greater content hash.
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    trust text COLLATE "C" NOT NULL,
    -- The version that was downloaded first, and when; in the Sandbox always 1.0 and 2013-08-01.
    original_application_version text COLLATE "C",
    original_purchase_date_ms bigint,
    original_platform text COLLATE "C",
    -- Null if the app was not ordered before its release.
    preorder_date_ms bigint,
    application_version text COLLATE "C",
    PRIMARY KEY (app_transaction_id, environment, bundle_id)
) WITH (fillfactor = 90);

COMMENT ON TABLE app_downloads IS
    'The newest app transaction of each account and app; all their contents are in revisions. '
    'Written by entitle-worker, kept forever.';
