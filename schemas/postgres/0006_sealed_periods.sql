-- What the oldest transactions of a long subscription add up to, so that a renewal reads a few rows
-- and not hundreds.
--
-- A copy of what follows from the facts: it may be emptied at any moment, and a migration that
-- comes with another rule of projection has to empty it.
CREATE TABLE sealed_periods (
    environment text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    -- Each transaction bought before this is in the periods, and no other.
    sealed_before_ms bigint NOT NULL,
    periods tstzmultirange NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, product_id)
) WITH (fillfactor = 70);

-- Of a sealed purchase the transactions since then are read.
CREATE INDEX transactions_of_purchase_by_date
    ON transactions (original_transaction_id, environment, purchase_date_ms);
DROP INDEX transactions_of_purchase;
