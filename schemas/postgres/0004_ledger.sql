-- Consumables: a credit for each transaction and currency, for ever once, and the app's own debits.

CREATE TABLE ledger (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    -- What a refund took back of it; less again after the refund's reversal.
    taken_back bigint NOT NULL DEFAULT 0 CHECK (taken_back BETWEEN 0 AND amount),
    purchase_date_ms bigint NOT NULL,
    revocation_date_ms bigint,
    PRIMARY KEY (transaction_id, environment, bundle_id, currency)
) WITH (fillfactor = 90);

CREATE INDEX ledger_of_user ON ledger (user_id, currency);
CREATE INDEX ledger_of_purchase ON ledger (original_transaction_id, environment, bundle_id);

CREATE TABLE ledger_debits (
    user_id text COLLATE "C" NOT NULL,
    -- The caller's name for this spending, so that it may ask twice and spend once.
    reference text COLLATE "C" NOT NULL CHECK (reference <> ''),
    environment text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    debited_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, reference)
);

-- A user's balance; below zero only where something was refunded that had been spent.
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
    )::bigint;
END;

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

-- Spends, for the app's own servers, and returns the balance that is left.
--
-- The same reference again changes nothing and returns the balance as it is. Raises LE001 where the
-- balance does not suffice, and LE002 where the reference stands for another debit already.
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
    IF amount IS NULL OR amount <= 0 THEN
        RAISE EXCEPTION 'a debit is more than zero' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF reference IS NULL OR reference = '' THEN
        RAISE EXCEPTION 'a debit needs a reference' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A snapshot older than the lock would not see the debit that we waited for.
    IF current_setting('transaction_isolation') = 'repeatable read' THEN
        RAISE EXCEPTION 'ledger_debit needs READ COMMITTED or SERIALIZABLE'
            USING ERRCODE = 'feature_not_supported';
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
