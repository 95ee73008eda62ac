-- Who owns a purchase: a fold of its ownership facts, the links and the policy.

-- What each transaction says about whose its purchase is.
CREATE TABLE ownership_facts (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    track text COLLATE "C" NOT NULL CHECK (track IN ('jws', 'receipt')),
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    trust text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    -- From which follows where the period that was paid for ends.
    product_type text COLLATE "C",
    expires_date_ms bigint,
    revocation_date_ms bigint,
    -- In lower case.
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    PRIMARY KEY (original_transaction_id, transaction_id, environment, bundle_id, track)
) WITH (fillfactor = 90);

-- A link that is written late has to find its purchases.
CREATE INDEX ownership_facts_of_token ON ownership_facts (account_token)
    WHERE account_token IS NOT NULL;

-- The same of renewal info, which counts only where no transaction has a token.
CREATE TABLE ownership_renewals (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment, trust)
) WITH (fillfactor = 80);

CREATE INDEX ownership_renewals_of_token ON ownership_renewals (account_token)
    WHERE account_token IS NOT NULL;

-- The user whom the ingestion service named beside a signed transaction: of several the one beside
-- the later signature, then the greater name. Kept also while the operator does not trust it.
CREATE TABLE ownership_claims (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    signed_date_ms bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (original_transaction_id, transaction_id, environment, bundle_id)
);

-- The result, one row for each purchase, also for one that nobody owns yet.
CREATE TABLE owners (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The present owner; null for nobody.
    user_id text COLLATE "C",
    rule text COLLATE "C" NOT NULL,
    -- [["user", null], ["next user", from_ms], ...] by ascending date; null where the present owner
    -- is the only one there ever was.
    spans json,
    -- The present owner by the purchase's own links and tokens, for the purchases beside it.
    direct_user_id text COLLATE "C",
    app_transaction_id text COLLATE "C",
    -- Set while the purchase has got another owner because of another purchase and the next stage
    -- has not been told: since when, in UNIX microseconds, which also tells one change from another.
    untold_since_us bigint,
    PRIMARY KEY (original_transaction_id, environment, bundle_id)
) WITH (fillfactor = 90);

-- Purchases of one Apple Account and app may name each other's owner: the first and the last by name
-- tell whether it is one.
CREATE INDEX owners_of_account
    ON owners (app_transaction_id, environment, bundle_id, direct_user_id)
    WHERE app_transaction_id IS NOT NULL;

CREATE INDEX owners_untold ON owners (untold_since_us) WHERE untold_since_us IS NOT NULL;

-- What operators know: a token, an app transaction ID or an original transaction ID is a user.
CREATE TABLE account_links (
    kind text COLLATE "C" NOT NULL
        CHECK (kind IN ('account_token', 'app_transaction_id', 'original_transaction_id')),
    -- Empty means any.
    environment text COLLATE "C" NOT NULL DEFAULT '',
    bundle_id text COLLATE "C" NOT NULL DEFAULT '',
    key text COLLATE "C" NOT NULL CHECK (key <> ''),
    user_id text COLLATE "C" NOT NULL CHECK (user_id <> ''),
    linked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key, kind, environment, bundle_id)
);

CREATE INDEX account_links_of_user ON account_links (user_id);

CREATE FUNCTION account_links_normalize() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NEW.kind = 'account_token' THEN
        NEW.key := lower(NEW.key);
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER normalize BEFORE INSERT OR UPDATE ON account_links
    FOR EACH ROW EXECUTE FUNCTION account_links_normalize();

-- What became different in account_links and has not been applied yet. The notification only says
-- that there is something here: a listener that missed it finds it by looking.
CREATE TABLE account_link_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION account_links_changed() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO account_link_changes (kind, environment, bundle_id, key)
        SELECT kind, environment, bundle_id, key FROM before;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO account_link_changes (kind, environment, bundle_id, key)
        SELECT kind, environment, bundle_id, key FROM after;
    ELSE
        INSERT INTO account_link_changes (kind, environment, bundle_id, key)
        SELECT kind, environment, bundle_id, key FROM before
        UNION
        SELECT kind, environment, bundle_id, key FROM after;
    END IF;
    IF FOUND THEN
        PERFORM pg_notify('account_links', '');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER inserted AFTER INSERT ON account_links REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION account_links_changed();
CREATE TRIGGER updated AFTER UPDATE ON account_links
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION account_links_changed();
CREATE TRIGGER deleted AFTER DELETE ON account_links REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION account_links_changed();
