-- What follows from the facts: who may use what, when; and how that came to change.

CREATE TABLE catalog_versions (
    version integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    content json NOT NULL,
    content_sha256 bytea NOT NULL CHECK (length(content_sha256) = 32),
    applied_at timestamptz NOT NULL DEFAULT now(),
    applied_by text NOT NULL DEFAULT current_user
);

COMMENT ON TABLE catalog_versions IS 'Product catalogs as they were applied; the last one holds.';

CREATE FUNCTION catalog_changed() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM pg_notify('catalog', NEW.version::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER applied AFTER INSERT ON catalog_versions
    FOR EACH ROW EXECUTE FUNCTION catalog_changed();

-- The projection: per purchase, entitlement key and user the spans of time in which it holds.
CREATE TABLE entitlements (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    entitlement_key text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- Start included, end excluded; no end is for ever.
    periods tstzmultirange NOT NULL CHECK (NOT isempty(periods)),
    PRIMARY KEY (original_transaction_id, environment, bundle_id, entitlement_key, user_id)
) WITH (fillfactor = 80);

CREATE INDEX entitlements_of_user ON entitlements (user_id, entitlement_key);

-- Non-renewing purchases extend each other per user and product, whatever purchase they belong to.
CREATE TABLE stacked_purchases (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (user_id, product_id, environment, bundle_id, transaction_id)
);

CREATE INDEX stacked_purchases_of_purchase
    ON stacked_purchases (original_transaction_id, environment, bundle_id);

-- The last version given out to a user's changes; read and raised under the user's lock.
CREATE TABLE user_versions (
    user_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 50);

-- Append-only: what a user could use before and after, and why it became different.
CREATE TABLE changes (
    user_id text COLLATE "C" NOT NULL,
    -- Grows by one for each user and never skips.
    version bigint NOT NULL CHECK (version > 0),
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    entitlement_key text COLLATE "C" NOT NULL,
    old_periods tstzmultirange NOT NULL,
    new_periods tstzmultirange NOT NULL,
    cause text COLLATE "C" NOT NULL
        CHECK (cause IN ('transaction', 'renewal', 'notification', 'link', 'catalog', 'rebuild')),
    -- The transaction, notification or link that brought it.
    cause_id text COLLATE "C",
    catalog_version integer,
    source_topic text COLLATE "C",
    source_partition integer,
    source_offset bigint,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, version)
);

-- Locks, always in the order of their numbers, so that two batches wait for each other instead of
-- ending in a deadlock; held to the end of the transaction. Two names with one number share a lock,
-- which costs a wait and nothing else. First the accounts of a batch, then its purchases, then its
-- users.

-- An Apple Account in an app, whose purchases may name each other's owner.
CREATE FUNCTION lock_accounts(
    environments text[], bundle_ids text[], app_transaction_ids text[]
) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    number bigint;
BEGIN
    FOR number IN
        SELECT DISTINCT hashtextextended(
            'account' || chr(9) || e || chr(9) || b || chr(9) || a, 0)
        FROM unnest(environments, bundle_ids, app_transaction_ids) AS account (e, b, a)
        ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END
$$;

-- A purchase with the renewal infos that join it: these name no app, so neither does the lock.
CREATE FUNCTION lock_purchases(
    environments text[], original_transaction_ids text[]
) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    number bigint;
BEGIN
    FOR number IN
        SELECT DISTINCT hashtextextended('purchase' || chr(9) || e || chr(9) || o, 0)
        FROM unnest(environments, original_transaction_ids) AS purchase (e, o)
        ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END
$$;

CREATE FUNCTION lock_users(user_ids text[]) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    number bigint;
BEGIN
    FOR number IN
        SELECT DISTINCT hashtextextended('user' || chr(9) || u, 0)
        FROM unnest(user_ids) AS u WHERE u IS NOT NULL
        ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END
$$;

-- Whether a user may use something at an instant, by today's knowledge of that instant.
CREATE FUNCTION has_entitlement(
    user_id text,
    entitlement_key text,
    at timestamptz DEFAULT now(),
    environment text DEFAULT 'Production'
) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM entitlements AS held
        WHERE held.user_id = has_entitlement.user_id
            AND held.entitlement_key = has_entitlement.entitlement_key
            AND held.environment = has_entitlement.environment
            AND held.periods @> has_entitlement.at
    );
END;

-- What holds now in one environment, with the span of time that now lies in; no end is for ever.
CREATE FUNCTION active_entitlements_in(environment text)
RETURNS TABLE (
    user_id text,
    entitlement_key text,
    bundle_id text,
    original_transaction_id text,
    active_since timestamptz,
    active_until timestamptz
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.user_id, held.entitlement_key, held.bundle_id, held.original_transaction_id,
        lower(span), upper(span)
    FROM entitlements AS held
    CROSS JOIN LATERAL unnest(held.periods) AS span
    WHERE held.environment = active_entitlements_in.environment AND span @> now();
END;

CREATE VIEW active_entitlements AS
    SELECT * FROM active_entitlements_in('Production');

COMMENT ON VIEW active_entitlements IS
    'Production only; active_entitlements_in(environment) answers for the others.';

-- For support: every entitlement, now and ever, beside what Apple says of its purchase. The newest
-- transaction is the one bought last; renewal info is what the same trust vouched for.
CREATE VIEW entitlement_details AS
    SELECT
        held.user_id, held.entitlement_key, held.environment, held.bundle_id,
        held.original_transaction_id, held.periods,
        held.periods @> now() AS is_active,
        newest.transaction_id, newest.product_id, newest.product_type,
        timestamptz_from_ms(newest.purchase_date_ms) AS purchased_at,
        timestamptz_from_ms(newest.expires_date_ms) AS expires_at,
        timestamptz_from_ms(newest.revocation_date_ms) AS revoked_at,
        newest.is_upgraded, newest.is_family_shared,
        renewal.auto_renew_status = 1 AS is_auto_renewing,
        renewal.auto_renew_product_id, renewal.is_in_billing_retry, renewal.expiration_intent,
        timestamptz_from_ms(renewal.grace_period_expires_date_ms) AS grace_expires_at,
        timestamptz_from_ms(renewal.grace_period_expires_date_ms) > now() AS is_in_grace,
        owner.rule AS ownership_rule
    FROM entitlements AS held
    LEFT JOIN LATERAL (
        SELECT * FROM transactions AS fact
        WHERE fact.environment = held.environment AND fact.bundle_id = held.bundle_id
            AND fact.original_transaction_id = held.original_transaction_id
        ORDER BY fact.purchase_date_ms DESC, fact.transaction_id DESC, fact.track
        LIMIT 1
    ) AS newest ON true
    LEFT JOIN renewals AS renewal
        ON renewal.environment = held.environment
        AND renewal.original_transaction_id = held.original_transaction_id
        AND renewal.trust = newest.trust
    LEFT JOIN owners AS owner
        ON owner.environment = held.environment AND owner.bundle_id = held.bundle_id
        AND owner.original_transaction_id = held.original_transaction_id;
