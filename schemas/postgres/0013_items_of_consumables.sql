-- One transaction may credit several products: itself, and its Advanced Commerce items that the
-- catalog names as consumables. Each has an entry of its own, which is taken back alone.
ALTER TABLE ledger DROP CONSTRAINT ledger_pkey,
    ADD PRIMARY KEY (transaction_id, environment, bundle_id, product_id, currency);

CREATE OR REPLACE VIEW ledger_history AS
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

-- Until now what was refunded of an item in part was not kept: the signed payload has it.
UPDATE transactions AS fact
SET items = known.payload -> 'advancedCommerceInfo' -> 'items'
FROM revisions AS known
WHERE fact.items IS NOT NULL
    AND known.id = fact.transaction_id AND known.kind = 'transaction'
    AND known.environment = fact.environment AND known.bundle_id = fact.bundle_id
    AND known.track = fact.track AND known.content_hash = fact.content_hash;

-- The rows of purchases with items are projected anew, as after a catalog that differs in all.
UPDATE catalog_projection
SET version = 0, target = NULL, after_original_transaction_id = '', after_environment = ''
WHERE EXISTS (SELECT FROM transactions WHERE items IS NOT NULL);
