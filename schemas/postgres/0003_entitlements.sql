-- The results of the facts: who may use what and when, and the credits of consumables; beside them
-- the grants by people.

CREATE TABLE catalog_versions (
    version integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    content json NOT NULL,
    content_sha256 bytea NOT NULL CHECK (length(content_sha256) = 32),
    applied_at timestamptz NOT NULL DEFAULT now(),
    applied_by text NOT NULL DEFAULT current_user
);

COMMENT ON TABLE catalog_versions IS
    'Product catalogs as they were applied; the last one holds. Written by `pipeline catalog '
    'apply`, kept forever.';

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

CREATE TABLE catalog_projection (
    -- One row.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- 0 before the first catalog.
    version integer NOT NULL DEFAULT 0,
    -- The version that is being applied, and the last purchase that was projected.
    target integer,
    after_original_transaction_id text COLLATE "C" NOT NULL DEFAULT '',
    after_environment text COLLATE "C" NOT NULL DEFAULT ''
);

COMMENT ON TABLE catalog_projection IS
    'By which catalog all rows are projected, and how far those of a later one have come, so that '
    'another copy of the worker goes on there. Written by entitle-worker.';

INSERT INTO catalog_projection DEFAULT VALUES;

CREATE TABLE entitlements (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    entitlement_key text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- Start included, end excluded; no end means forever, and 'infinity' is never stored.
    periods tstzmultirange NOT NULL CHECK (
        NOT isempty(periods) AND isfinite(lower(periods)) AND isfinite(upper(periods))),
    -- How the newest transaction of the purchase is owned, as Apple writes it; null where only a
    -- receipt lists it.
    ownership_type text COLLATE "C",
    -- The seats that are paid for in the newest period of the purchase, as soon as Apple has signed
    -- it. Null where the row does not follow from that period, where Apple names no seats, and for
    -- members (ASSIGNED, FAMILY_SHARED), whose transactions repeat the purchaser's.
    seats bigint CHECK (seats >= 0),
    -- Why several transactions represent that period; null where one is all of it.
    additional_transaction_reason text COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment, bundle_id, entitlement_key, user_id)
) WITH (fillfactor = 80);

COMMENT ON TABLE entitlements IS
    'The projection: per purchase, entitlement key and user the spans of time in which it holds, '
    'past ones too, and how it is held. Written by entitle-worker, kept while it follows from the facts.';

CREATE INDEX entitlements_of_user ON entitlements (user_id, entitlement_key);

CREATE TABLE closed_periods (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    -- Each transaction bought before this is in the periods, and no other.
    closed_before_ms bigint NOT NULL,
    periods tstzmultirange NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, product_id)
) WITH (fillfactor = 70);

COMMENT ON TABLE closed_periods IS
    'What the oldest transactions of a long subscription add up to, so that a renewal reads a few '
    'rows and not hundreds. Written by entitle-worker. A copy of what follows from the facts: it '
    'may be emptied at any moment, and a migration that comes with another rule has to empty it.';

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

COMMENT ON TABLE stacked_purchases IS
    'Non-renewing purchases, which extend each other per user and product, whatever purchase they '
    'belong to. Written by entitle-worker, kept while it follows from the facts.';

CREATE INDEX stacked_purchases_of_purchase
    ON stacked_purchases (original_transaction_id, environment, bundle_id);

-- One transaction may credit several products: its own, and its Advanced Commerce items that the
-- catalog names as consumables. Each has an entry of its own, which is refunded alone.
CREATE TABLE ledger (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    -- The refunded part; less again after the refund's reversal.
    taken_back bigint NOT NULL DEFAULT 0 CHECK (taken_back BETWEEN 0 AND amount),
    purchase_date_ms bigint NOT NULL,
    revocation_date_ms bigint,
    -- Begins with the purchase, by which credits are found: one index serves both, and a plan made
    -- while the table is empty cannot choose another.
    PRIMARY KEY (
        original_transaction_id, environment, bundle_id, transaction_id, product_id, currency)
) WITH (fillfactor = 90);

COMMENT ON TABLE ledger IS
    'The credits of each consumable''s transaction, once whatever is replayed. Written by '
    'entitle-worker, kept while it follows from the facts.';

CREATE INDEX ledger_of_user ON ledger (user_id, currency);

CREATE TABLE ledger_debits (
    user_id text COLLATE "C" NOT NULL,
    -- The caller's name for this debit, so that a repeated request spends once.
    reference text COLLATE "C" NOT NULL CHECK (reference <> ''),
    environment text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    debited_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, reference),
    CONSTRAINT ledger_debits_of_identifiers CHECK (
        is_identifier(user_id) AND is_identifier(reference) AND is_environment(environment)
        AND is_identifier(currency)
    )
);

COMMENT ON TABLE ledger_debits IS
    'What users spent of their balances. Written by the app''s own servers through ledger_debit, '
    'kept forever.';

-- Facts of another source than Apple: they have tables of their own, so that neither is ever
-- mistaken for the other. Each has an environment, like everything that grants.
CREATE TABLE grants (
    grant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL CHECK (user_id <> ''),
    entitlement_key text COLLATE "C" NOT NULL CHECK (entitlement_key <> ''),
    -- Start included, end excluded; no end means forever. Cut short when the grant is revoked. An
    -- end 'infinity' would say the same, but readers of the feed would take it for a date.
    periods tstzmultirange NOT NULL
        CHECK (isfinite(lower(periods)) AND isfinite(upper(periods))),
    granted_at timestamptz NOT NULL DEFAULT now(),
    granted_by text NOT NULL CHECK (granted_by <> ''),
    reason text NOT NULL CHECK (reason <> ''),
    revoked_at timestamptz,
    revoked_by text CHECK (revoked_by <> ''),
    revocation_reason text CHECK (revocation_reason <> ''),
    CONSTRAINT grants_of_identifiers CHECK (
        is_identifier(user_id) AND is_identifier(entitlement_key) AND is_environment(environment)
    )
);

COMMENT ON TABLE grants IS
    'What people granted, beside what was bought. Written through grant_entitlement and '
    'revoke_grant, kept forever.';

CREATE INDEX grants_of_user ON grants (user_id, entitlement_key);

-- The locks of projections, in the order of their numbers, like those of accounts and ownership.

-- The entitlements of a purchase with its renewal infos.
CREATE FUNCTION lock_projection(
    environments text[], original_transaction_ids text[]
) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM lock_in_order(ARRAY(
        SELECT 'projection' || chr(9) || e || chr(9) || o
        FROM unnest(environments, original_transaction_ids) AS purchase (e, o)
    ));
END
$$;

-- A user's versions, balance and stacked purchases.
CREATE FUNCTION lock_users(user_ids text[]) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM lock_in_order(ARRAY(SELECT 'user' || chr(9) || u FROM unnest(user_ids) AS u));
END
$$;

CREATE FUNCTION has_entitlement(
    user_id text,
    entitlement_key text,
    at timestamptz DEFAULT now(),
    environment text DEFAULT 'Production'
) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT require_environment(has_entitlement.environment) AND (
        EXISTS (
            SELECT FROM entitlements AS held
            WHERE held.user_id = has_entitlement.user_id
                AND held.entitlement_key = has_entitlement.entitlement_key
                AND held.environment = has_entitlement.environment
                AND held.periods @> has_entitlement.at
        ) OR EXISTS (
            SELECT FROM grants AS held
            WHERE held.user_id = has_entitlement.user_id
                AND held.entitlement_key = has_entitlement.entitlement_key
                AND held.environment = has_entitlement.environment
                AND held.periods @> has_entitlement.at
        )
    );
END;

COMMENT ON FUNCTION has_entitlement IS
    'Whether a user may use something at an instant, bought or granted, by today''s knowledge of '
    'that instant.';

CREATE FUNCTION active_entitlements_in(environment text)
RETURNS TABLE (
    user_id text,
    entitlement_key text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    active_since timestamptz,
    active_until timestamptz,
    ownership_type text,
    seats bigint,
    additional_transaction_reason text
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.user_id, held.entitlement_key, held.bundle_id, held.original_transaction_id,
        NULL::bigint, lower(span), upper(span), held.ownership_type, held.seats,
        held.additional_transaction_reason
    FROM entitlements AS held
    CROSS JOIN LATERAL unnest(held.periods) AS span
    WHERE require_environment(active_entitlements_in.environment)
        AND held.environment = active_entitlements_in.environment AND span @> now()
    UNION ALL
    SELECT held.user_id, held.entitlement_key, NULL, NULL, held.grant_id, lower(span), upper(span),
        NULL, NULL, NULL
    FROM grants AS held
    CROSS JOIN LATERAL unnest(held.periods) AS span
    WHERE require_environment(active_entitlements_in.environment)
        AND held.environment = active_entitlements_in.environment AND span @> now();
END;

COMMENT ON FUNCTION active_entitlements_in IS
    'The entitlements that hold now in one environment, each with its present period; no end '
    'means forever. Each is either bought or granted.';

CREATE VIEW active_entitlements AS
    SELECT * FROM active_entitlements_in('Production');

COMMENT ON VIEW active_entitlements IS
    'Production only; active_entitlements_in(environment) answers for the others.';

CREATE FUNCTION held_entitlements(user_id text)
RETURNS TABLE (
    environment text,
    bundle_id text,
    original_transaction_id text,
    grant_id bigint,
    entitlement_key text,
    periods tstzmultirange,
    ownership_type text,
    seats bigint,
    additional_transaction_reason text
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT held.environment, held.bundle_id, held.original_transaction_id, NULL::bigint,
        held.entitlement_key, held.periods, held.ownership_type, held.seats,
        held.additional_transaction_reason
    FROM entitlements AS held WHERE held.user_id = held_entitlements.user_id
    UNION ALL
    SELECT held.environment, NULL, NULL, held.grant_id, held.entitlement_key, held.periods, NULL,
        NULL, NULL
    FROM grants AS held
    WHERE held.user_id = held_entitlements.user_id AND NOT isempty(held.periods);
END;

COMMENT ON FUNCTION held_entitlements IS
    'All entitlements of a user, in every environment, past and present, bought and granted; also '
    'those that a record of the feed or an answer was too small for.';

CREATE VIEW entitlement_details AS
    SELECT
        held.user_id, held.entitlement_key, held.environment, held.bundle_id,
        held.original_transaction_id, held.periods,
        held.periods @> now() AS is_active,
        newest.transaction_id, newest.product_id, newest.product_type,
        timestamptz_from_ms(newest.purchase_date_ms) AS purchased_at,
        timestamptz_from_ms(newest.expires_date_ms) AS expires_at,
        timestamptz_from_ms(newest.revocation_date_ms) AS revoked_at,
        newest.is_upgraded, held.ownership_type, held.seats, held.additional_transaction_reason,
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

COMMENT ON VIEW entitlement_details IS
    'For support: every entitlement, past and present, beside Apple''s statements about its '
    'purchase, and the rule that found its owner. The transaction is the one bought last; renewal '
    'info is what the same trust vouched for.';

CREATE FUNCTION ledger_balance(
    user_id text, currency text, environment text DEFAULT 'Production'
) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (
        coalesce((
            SELECT sum(credit.amount - credit.taken_back) FROM ledger AS credit
            WHERE credit.user_id = ledger_balance.user_id
                AND credit.currency = ledger_balance.currency
                AND credit.environment = ledger_balance.environment
        ), 0)
        - coalesce((
            SELECT sum(debit.amount) FROM ledger_debits AS debit
            WHERE debit.user_id = ledger_balance.user_id
                AND debit.currency = ledger_balance.currency
                AND debit.environment = ledger_balance.environment
        ), 0)
    )::bigint
    WHERE require_environment(ledger_balance.environment);
END;

COMMENT ON FUNCTION ledger_balance IS
    'A user''s balance; below zero only after a refund of a spent credit.';

CREATE VIEW ledger_balances AS
    SELECT user_id, currency, sum(amount)::bigint AS balance
    FROM (
        SELECT user_id, currency, amount - taken_back AS amount
        FROM ledger WHERE environment = 'Production'
        UNION ALL
        SELECT user_id, currency, -amount
        FROM ledger_debits WHERE environment = 'Production'
    ) AS entries
    GROUP BY user_id, currency;

COMMENT ON VIEW ledger_balances IS
    'Production only; ledger_balance(user, currency, environment) answers for the others.';

CREATE FUNCTION ledger_debit(
    user_id text,
    currency text,
    amount bigint,
    reference text,
    environment text DEFAULT 'Production'
) RETURNS bigint
    LANGUAGE plpgsql AS
$$
#variable_conflict use_column
DECLARE
    known ledger_debits%ROWTYPE;
    balance bigint;
BEGIN
    PERFORM require_environment(ledger_debit.environment);
    IF amount IS NULL OR amount <= 0 THEN
        RAISE EXCEPTION 'a debit is more than zero' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF reference IS NULL OR reference = '' THEN
        RAISE EXCEPTION 'a debit needs a reference' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_users(ARRAY[ledger_debit.user_id]);
    SELECT * INTO known FROM ledger_debits AS debit
        WHERE debit.user_id = ledger_debit.user_id AND debit.reference = ledger_debit.reference;
    IF FOUND THEN
        IF (known.currency, known.amount, known.environment)
            <> (ledger_debit.currency, ledger_debit.amount, ledger_debit.environment)
        THEN
            RAISE EXCEPTION 'this reference stands for another debit already'
                USING ERRCODE = 'LE002';
        END IF;
        RETURN ledger_balance(
            ledger_debit.user_id, ledger_debit.currency, ledger_debit.environment);
    END IF;
    balance := ledger_balance(
        ledger_debit.user_id, ledger_debit.currency, ledger_debit.environment);
    IF balance < ledger_debit.amount THEN
        RAISE EXCEPTION 'the balance does not suffice' USING ERRCODE = 'LE001';
    END IF;
    INSERT INTO ledger_debits (user_id, reference, environment, currency, amount)
    VALUES (
        ledger_debit.user_id, ledger_debit.reference, ledger_debit.environment,
        ledger_debit.currency, ledger_debit.amount
    );
    RETURN balance - ledger_debit.amount;
END
$$;

COMMENT ON FUNCTION ledger_debit IS
    'Spends and returns the remaining balance. The same reference again changes nothing and '
    'returns the present balance.';

CREATE VIEW ledger_history AS
    SELECT
        user_id, environment, currency, happened_at, kind, amount, reference, product_id,
        sum(amount) OVER (
            PARTITION BY user_id, environment, currency
            ORDER BY happened_at, place, reference, product_id
            ROWS UNBOUNDED PRECEDING
        )::bigint AS balance
    FROM (
        SELECT user_id, environment, currency, timestamptz_from_ms(purchase_date_ms) AS happened_at,
            1 AS place, 'credit' AS kind, amount, transaction_id AS reference, product_id
        FROM ledger
        UNION ALL
        SELECT user_id, environment, currency, timestamptz_from_ms(revocation_date_ms),
            2, 'refund', -taken_back, transaction_id, product_id
        FROM ledger WHERE revocation_date_ms IS NOT NULL
        UNION ALL
        SELECT user_id, environment, currency, debited_at, 3, 'debit', -amount, reference, NULL
        FROM ledger_debits
    ) AS entries;

COMMENT ON VIEW ledger_history IS
    'Each credit, refund and debit in every environment, by today''s knowledge, with the balance '
    'after it; references are transaction IDs, or the app''s own names of its debits.';
