-- Who owns a purchase: a fold of its ownership facts, the links and the policy.

-- The statements of each transaction about the owner of its purchase.
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
    -- These give the end of the paid period.
    product_type text COLLATE "C",
    expires_date_ms bigint,
    revocation_date_ms bigint,
    -- The receipt that brought the revocation, as in transactions.
    revoked_signed_date_ms bigint,
    revoked_content_hash bytea CHECK (length(revoked_content_hash) = 32),
    -- In lower case.
    account_token text COLLATE "C",
    app_transaction_id text COLLATE "C",
    PRIMARY KEY (original_transaction_id, transaction_id, environment, bundle_id, track)
) WITH (fillfactor = 90);

COMMENT ON TABLE ownership_facts IS
    'What the newest revision of each transaction says about whose its purchase is. Written by '
    'link-worker, kept forever; never behind transactions.';

-- A link that is written late has to find its purchases.
CREATE INDEX ownership_facts_of_token ON ownership_facts (account_token)
    WHERE account_token IS NOT NULL;

-- The same for renewal info, which counts only if no transaction has a token.
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

COMMENT ON TABLE ownership_renewals IS
    'What the newest renewal info of each subscription says about whose its purchases are. Written '
    'by link-worker, kept forever.';

CREATE INDEX ownership_renewals_of_token ON ownership_renewals (account_token)
    WHERE account_token IS NOT NULL;

-- If several users are named for one transaction, the earliest raw record counts, so that nobody
-- takes a purchase over by posting a copy of it.
CREATE TABLE ownership_claims (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    purchase_date_ms bigint NOT NULL,
    -- Where and when the raw record was written.
    raw_timestamp_ms bigint NOT NULL,
    raw_partition bigint NOT NULL,
    raw_offset bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (original_transaction_id, transaction_id, environment, bundle_id)
);

CREATE INDEX ownership_claims_of_user ON ownership_claims (user_id);

COMMENT ON TABLE ownership_claims IS
    'The user that the ingestion service named beside a transaction, if '
    'linking.trust_ingest_user is set. Written by link-worker, kept forever.';

CREATE TABLE owners (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The present owner; null for nobody.
    user_id text COLLATE "C",
    rule text COLLATE "C" NOT NULL,
    -- [["user", null], ["next user", from_ms], ...] by ascending date; null if there never was
    -- another owner.
    spans json,
    -- The present owner by the purchase's own links and tokens, for the purchases beside it.
    direct_user_id text COLLATE "C",
    app_transaction_id text COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment, bundle_id)
) WITH (fillfactor = 90);

COMMENT ON TABLE owners IS
    'Whose each purchase is, also of those that nobody owns yet. Written by link-worker, read by '
    'entitle-worker when it projects, kept forever.';

-- Purchases of one Apple Account and app may name each other's owner: if the first and the last by
-- name are equal, there is one.
CREATE INDEX owners_of_account
    ON owners (app_transaction_id, environment, bundle_id, direct_user_id)
    WHERE app_transaction_id IS NOT NULL;

-- Purchases that wait for a link are counted from this index, and never from the whole table.
CREATE INDEX owners_unowned ON owners (original_transaction_id) WHERE user_id IS NULL;

-- Written in the transaction that changes the owner, and removed only by the transaction that
-- projects the purchase from that very owner: no repeated, refused or lost record removes it. Until
-- then link-worker sends a link observation again and again. The first owner of a purchase needs no
-- row: it is committed before any record of the purchase is forwarded, so before any projection.
CREATE TABLE owner_changes (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- Distinguishes one change of an owner from the next.
    change_id bigint GENERATED BY DEFAULT AS IDENTITY,
    -- The time since which the purchase waits for its projection.
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- The time from which on the outbox sends a link observation.
    send_due_at timestamptz NOT NULL,
    -- When it sent the last one, and how many for this change.
    sent_at timestamptz,
    sends integer NOT NULL DEFAULT 0,
    PRIMARY KEY (original_transaction_id, environment, bundle_id)
) WITH (
    -- Rows come and go; the table stays as small as the number of waiting purchases.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000
);

CREATE INDEX owner_changes_due ON owner_changes (send_due_at);
CREATE INDEX owner_changes_sent ON owner_changes (sent_at) WHERE sent_at IS NOT NULL;

COMMENT ON TABLE owner_changes IS
    'Purchases whose owner has changed and that have not been projected since. Written by '
    'link-worker, removed by entitle-worker.';

-- The workers' rules, for others that find owners beside them, such as `pipeline rebuild`.
CREATE TABLE linking_rules (
    -- At most one row.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    policy text COLLATE "C" NOT NULL,
    tokens_are_user_ids boolean NOT NULL,
    trusts_ingestion boolean NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE linking_rules IS
    'By which rules owners are found: the settings of the link-worker that started last. Written by '
    'it, kept until another one starts.';

CREATE TABLE account_links (
    kind text COLLATE "C" NOT NULL
        CHECK (kind IN ('account_token', 'app_transaction_id', 'original_transaction_id')),
    -- Empty means any.
    environment text COLLATE "C" NOT NULL DEFAULT '',
    bundle_id text COLLATE "C" NOT NULL DEFAULT '',
    key text COLLATE "C" NOT NULL CHECK (key <> ''),
    user_id text COLLATE "C" NOT NULL CHECK (user_id <> ''),
    linked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key, kind, environment, bundle_id),
    CONSTRAINT account_links_of_identifiers CHECK (
        is_identifier(key) AND is_identifier(user_id)
        AND (environment = '' OR is_environment(environment))
        AND (bundle_id = '' OR is_identifier(bundle_id))
    ),
    -- Some clients send the nil UUID instead of no token: it names nobody.
    CONSTRAINT account_links_of_tokens CHECK (
        kind <> 'account_token' OR key <> '00000000-0000-0000-0000-000000000000'
    )
);

COMMENT ON TABLE account_links IS
    'What operators and the company''s services know: a token, an app transaction ID or an '
    'original transaction ID is a user. Written by them, kept until they remove it.';

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

-- The notification only says that the table has rows: a listener that missed it finds them on the
-- next look.
CREATE TABLE account_link_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- A purchase whose new owner PostgreSQL rejects is tried again later, alone, and nothing else
    -- waits for it.
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0
);

COMMENT ON TABLE account_link_changes IS
    'Links that were written, changed or removed and whose purchases have not been looked at '
    'since. Written by the triggers of account_links, removed by link-worker.';

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

-- Emptying account_links withdraws every link, and link-worker has to be notified. The trigger runs
-- before it, while the rows still exist.
CREATE FUNCTION account_links_emptied() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO account_link_changes (kind, environment, bundle_id, key)
    SELECT kind, environment, bundle_id, key FROM account_links;
    IF FOUND THEN
        PERFORM pg_notify('account_links', '');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER emptied BEFORE TRUNCATE ON account_links
    FOR EACH STATEMENT EXECUTE FUNCTION account_links_emptied();

CREATE FUNCTION reapply_ownership_rules() RETURNS bigint
    LANGUAGE plpgsql AS
$$
DECLARE
    purchases bigint;
BEGIN
    INSERT INTO account_link_changes (kind, environment, bundle_id, key)
    SELECT 'original_transaction_id', environment, bundle_id, original_transaction_id FROM owners;
    GET DIAGNOSTICS purchases = ROW_COUNT;
    PERFORM pg_notify('account_links', '');
    RETURN purchases;
END
$$;

COMMENT ON FUNCTION reapply_ownership_rules IS
    'Makes running workers find the owner of every purchase again, by the present links and '
    'settings. Returns how many purchases there are.';

-- Locks, always in the order of their numbers, so that two batches wait for each other instead of
-- ending in a deadlock; held to the end of the transaction. Two names with one number share a lock,
-- which costs only a wait. A change of owners locks accounts, then the ownership of purchases; a
-- projection locks the projection of purchases, then users. Neither waits for the other.

-- Raises IL001 unless the transaction is READ COMMITTED, in which each statement sees everything
-- committed before it began. Every other level reads a snapshot that may be older than a lock it has
-- waited for: a balance spent in between would be spent again.
CREATE FUNCTION require_read_committed() RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'a lock is waited for in READ COMMITTED alone, this transaction is %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'IL001',
                HINT = 'Call the function in a transaction of its own, after '
                    'BEGIN ISOLATION LEVEL READ COMMITTED.';
    END IF;
END
$$;

-- Takes the locks of these names. One statement, which sorts them all before it requests the first.
CREATE FUNCTION lock_in_order(names text[]) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM require_read_committed();
    PERFORM pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(name, 0) AS number
        FROM unnest(names) AS name WHERE name IS NOT NULL
        ORDER BY 1 OFFSET 0
    ) AS ordered;
END
$$;

-- Takes the lock of that name, shared with others.
CREATE FUNCTION lock_shared(name text) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM require_read_committed();
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(name, 0));
END
$$;

-- An Apple Account in an app, whose purchases may name each other's owner.
CREATE FUNCTION lock_accounts(
    environments text[], bundle_ids text[], app_transaction_ids text[]
) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM lock_in_order(ARRAY(
        SELECT 'account' || chr(9) || e || chr(9) || b || chr(9) || a
        FROM unnest(environments, bundle_ids, app_transaction_ids) AS account (e, b, a)
    ));
END
$$;

-- The ownership of a purchase with its renewal infos: these name no app, so neither does the lock.
CREATE FUNCTION lock_ownership(
    environments text[], original_transaction_ids text[]
) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM lock_in_order(ARRAY(
        SELECT 'ownership' || chr(9) || e || chr(9) || o
        FROM unnest(environments, original_transaction_ids) AS purchase (e, o)
    ));
END
$$;

-- Waits until every transaction that now shares the advisory lock of that name has ended.
--
-- Requesting the lock itself would do the same, but a waiting request blocks all later ones: one
-- process that stands still while it shares the lock would keep everybody from sharing it. Here only
-- the caller waits, and not for later transactions: they see what was committed before this call.
CREATE FUNCTION wait_for_sharers(name text) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    number CONSTANT bigint := hashtextextended(name, 0);
    pause double precision := 0.002;
    sharers text[];
BEGIN
    PERFORM require_read_committed();
    LOOP
        SELECT array_agg(virtualtransaction) INTO sharers FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND objsubid = 1
            AND classid = ((number >> 32) & 4294967295)::oid
            AND objid = (number & 4294967295)::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND pid <> pg_backend_pid()
            AND (sharers IS NULL OR virtualtransaction = ANY (sharers));
        EXIT WHEN sharers IS NULL;
        PERFORM pg_sleep(pause);
        pause := least(pause * 2, 0.1);
    END LOOP;
END
$$;
