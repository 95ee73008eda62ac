-- How a user's balance came about, by today's knowledge: what each purchase credited, what refunds
-- took back of it, what the app spent, and the balance after each. Other environments than
-- Production are shown too.
CREATE VIEW ledger_history AS
    SELECT
        user_id, environment, currency, happened_at, kind, amount, reference, product_id,
        sum(amount) OVER (
            PARTITION BY user_id, environment, currency
            ORDER BY happened_at, place, reference
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
    'Each credit, refund and debit with the balance after it; references are transaction IDs, or the '
    'app''s own names of its debits.';
