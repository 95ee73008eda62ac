-- Support credits balances, and takes back what it or an app's server posted; grants get references.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Entries are added and never changed. A credit by support is an entry below zero, and so is the
-- reversal of a debit: every sum and list of the version before stays right.
ALTER TABLE ledger_debits
    DROP CONSTRAINT ledger_debits_amount_check,
    ADD COLUMN reverses text,
    ADD COLUMN reason text,
    ADD COLUMN posted_by text;

COMMENT ON TABLE ledger_debits IS
    'What was posted to users'' balances beside purchases: above zero what the app''s own servers '
    'spent, below zero what support credited; a reversal has the amount with the other sign. Written '
    'through ledger_debit, ledger_credit and ledger_reverse, kept forever.';

-- The reference of the entry that reverses another one, whose own reference may have 255 bytes.
CREATE FUNCTION reversal_reference(reference text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'reversal of ' || CASE WHEN octet_length(reference) < 240 THEN reference
        ELSE encode(sha256(convert_to(reference, 'UTF8')), 'hex') END;

-- Adds an entry for its caller, and returns the balance. The same reference again adds nothing.
CREATE FUNCTION post_to_ledger(
    user_id text, currency text, amount bigint, reference text, reason text, environment text
) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
DECLARE
    known ledger_debits;
    balance bigint;
BEGIN
    PERFORM require_environment(environment);
    IF coalesce(reference, '') = '' OR starts_with(reference, 'reversal of ') THEN
        RAISE EXCEPTION 'an entry of the ledger needs a reference, which no reversal has'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_users(ARRAY[user_id]);
    IF EXISTS (
        SELECT FROM ledger_debits AS entry WHERE entry.user_id = post_to_ledger.user_id
            AND entry.reference = reversal_reference(post_to_ledger.reference)
            AND entry.reverses = post_to_ledger.reference
    ) THEN
        RAISE EXCEPTION 'the entry of this reference was reversed' USING ERRCODE = 'LE003';
    END IF;
    SELECT * INTO known FROM ledger_debits AS entry
        WHERE entry.user_id = post_to_ledger.user_id AND entry.reference = post_to_ledger.reference;
    balance := ledger_balance(user_id, currency, environment);
    IF (known.currency, known.amount, known.environment) = (currency, amount, environment) THEN
        RETURN balance;
    ELSIF known.reference IS NOT NULL THEN
        RAISE EXCEPTION 'this reference stands for another entry already' USING ERRCODE = 'LE002';
    ELSIF amount > 0 AND amount > balance THEN
        RAISE EXCEPTION 'the balance does not suffice' USING ERRCODE = 'LE001';
    END IF;
    INSERT INTO ledger_debits (
        user_id, reference, environment, currency, amount, reason, posted_by)
    VALUES (user_id, reference, environment, currency, amount, reason, session_user);
    RETURN balance - amount;
END
$$;

CREATE OR REPLACE FUNCTION ledger_debit(
    user_id text,
    currency text,
    amount bigint,
    reference text,
    environment text DEFAULT 'Production'
) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
BEGIN
    IF amount > 0 THEN
        RETURN post_to_ledger(user_id, currency, amount, reference, NULL, environment);
    END IF;
    RAISE EXCEPTION 'a debit is more than zero' USING ERRCODE = 'invalid_parameter_value';
END
$$;

CREATE FUNCTION ledger_credit(
    user_id text,
    currency text,
    amount bigint,
    reference text,
    reason text,
    environment text DEFAULT 'Production'
) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
BEGIN
    IF amount BETWEEN 1 AND 1000000000 AND reason <> '' THEN
        RETURN post_to_ledger(user_id, currency, -amount, reference, reason, environment);
    END IF;
    RAISE EXCEPTION 'a credit is 1 to 1,000,000,000 and has a reason'
        USING ERRCODE = 'invalid_parameter_value';
END
$$;

COMMENT ON FUNCTION ledger_credit IS
    'Credits 1 to 1,000,000,000 without a purchase and returns the balance. The same reference again '
    'changes nothing and returns the present balance.';

CREATE FUNCTION ledger_reverse(user_id text, reference text, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
DECLARE
    known ledger_debits;
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION 'a reversal needs a reason' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_users(ARRAY[user_id]);
    SELECT * INTO known FROM ledger_debits AS entry
        WHERE entry.user_id = ledger_reverse.user_id AND entry.reference = ledger_reverse.reference;
    IF known.reverses IS NOT NULL OR NOT FOUND THEN
        RAISE EXCEPTION 'the user has no entry of this reference' USING ERRCODE = 'LE004';
    END IF;
    -- An entry of the version before that has this reference by chance raises 23505.
    IF NOT EXISTS (
        SELECT FROM ledger_debits AS entry WHERE entry.user_id = ledger_reverse.user_id
            AND entry.reference = reversal_reference(ledger_reverse.reference)
            AND entry.reverses = ledger_reverse.reference
    ) THEN
        INSERT INTO ledger_debits (
            user_id, reference, environment, currency, amount, reverses, reason, posted_by)
        VALUES (
            user_id, reversal_reference(reference), known.environment, known.currency,
            -known.amount, reference, reason, session_user);
    END IF;
    RETURN ledger_balance(user_id, known.currency, known.environment);
END
$$;

COMMENT ON FUNCTION ledger_reverse IS
    'Takes back a debit or a credit of ledger_debit or ledger_credit and returns the balance, which '
    'may be below zero. Again, it changes nothing and returns the present balance.';

-- `reference` names the purchase's transaction, or the posted entry.
CREATE OR REPLACE VIEW ledger_history AS
    SELECT
        user_id, environment, currency, happened_at, kind, amount, reference, product_id,
        sum(amount) OVER (
            PARTITION BY user_id, environment, currency
            ORDER BY happened_at, place, reference, product_id
            ROWS UNBOUNDED PRECEDING
        )::bigint AS balance,
        original_transaction_id, reason, posted_by
    FROM (
        SELECT user_id, environment, currency, timestamptz_from_ms(purchase_date_ms) AS happened_at,
            1 AS place, 'credit' AS kind, amount, transaction_id AS reference, product_id,
            original_transaction_id, NULL AS reason, NULL AS posted_by
        FROM ledger
        UNION ALL
        SELECT user_id, environment, currency, timestamptz_from_ms(revocation_date_ms),
            2, 'refund', -taken_back, transaction_id, product_id, original_transaction_id, NULL, NULL
        FROM ledger WHERE revocation_date_ms IS NOT NULL
        UNION ALL
        SELECT user_id, environment, currency, debited_at, 3,
            CASE WHEN reverses IS NOT NULL THEN 'reversal' WHEN amount > 0 THEN 'debit'
                ELSE 'adjustment' END,
            -amount, coalesce(reverses, reference), NULL, NULL, reason, posted_by
        FROM ledger_debits
    ) AS entries;

COMMENT ON VIEW ledger_history IS
    'Each credit, refund, debit, adjustment by support and reversal in every environment, by today''s '
    'knowledge, with the balance after it; the reference is a transaction ID, or the name that the '
    'caller gave the entry.';

-- Unique for a user, who is locked while it is looked up.
ALTER TABLE grants ADD COLUMN reference text;

-- The calls of the version before go on: the new parameter has a default.
-- Contracts: grant_entitlement(user_id
CREATE FUNCTION grant_entitlement(
    user_id text,
    entitlement_key text,
    until timestamptz,
    reason text,
    granted_by text,
    environment text DEFAULT 'Production',
    reference text DEFAULT NULL
) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
DECLARE
    known grants;
    added grants;
BEGIN
    PERFORM require_environment(environment);
    until := nullif(until, 'infinity');
    PERFORM lock_users(ARRAY[user_id]);
    IF reference IS NOT NULL AND NOT is_identifier(reference) THEN
        RAISE EXCEPTION 'a reference is an identifier' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO known FROM grants AS held
        WHERE held.user_id = grant_entitlement.user_id
            AND held.reference = grant_entitlement.reference;
    IF (known.entitlement_key, known.environment) = (entitlement_key, environment) THEN
        RETURN known.grant_id;
    ELSIF known.grant_id IS NOT NULL THEN
        RAISE EXCEPTION 'this reference stands for another grant already' USING ERRCODE = 'LE002';
    ELSIF until <= now() THEN
        RAISE EXCEPTION 'a grant ends after it begins' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO grants (
        environment, user_id, entitlement_key, periods, granted_by, reason, reference)
    VALUES (
        environment, user_id, entitlement_key,
        tstzmultirange(tstzrange(
            date_trunc('milliseconds', now()), date_trunc('milliseconds', until))),
        granted_by, reason, reference)
    RETURNING * INTO added;
    PERFORM record_grant_change(added, '{}', added.periods);
    RETURN added.grant_id;
END
$$;

DO
$$
DECLARE
    former oid := 'grant_entitlement(text, text, timestamptz, text, text, text)'::regprocedure;
    holder text;
BEGIN
    FOR holder IN
        SELECT grantee::regrole FROM pg_proc, aclexplode(proacl)
        WHERE pg_proc.oid = former AND grantee NOT IN (0, proowner)
    LOOP
        EXECUTE 'GRANT EXECUTE ON FUNCTION grant_entitlement('
            || 'text, text, timestamptz, text, text, text, text) TO ' || holder;
    END LOOP;
    EXECUTE 'DROP FUNCTION ' || former::regprocedure;
END
$$;

COMMENT ON FUNCTION grant_entitlement IS
    'Lets a user use something from now on, until an instant; forever for null and for '
    '''infinity''. Returns the grant''s number, by which it is revoked. The same reference again '
    'changes nothing and returns the number of its grant, also of a revoked one.';

REVOKE EXECUTE ON FUNCTION grant_entitlement, ledger_credit, ledger_reverse, post_to_ledger FROM PUBLIC;
