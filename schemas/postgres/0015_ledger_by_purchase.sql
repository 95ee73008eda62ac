-- Credits are found by their purchase, so that the key begins with it: one index serves both, and
-- no other can be taken for it by a plan that is made while the table is empty. A transaction's
-- original never changes, so the key is as unique as it was.
ALTER TABLE ledger DROP CONSTRAINT ledger_pkey;
DROP INDEX ledger_of_purchase;
ALTER TABLE ledger ADD PRIMARY KEY (
    original_transaction_id, environment, bundle_id, transaction_id, product_id, currency);
