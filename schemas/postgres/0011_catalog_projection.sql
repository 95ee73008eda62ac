-- By which catalog all rows are projected, and how far those of a later one have come: whoever takes
-- over goes on there.
CREATE TABLE catalog_projection (
    -- There is one row.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- 0 before the first catalog.
    version integer NOT NULL DEFAULT 0,
    -- The version that is being worked through, and the last purchase that was looked at.
    target integer,
    after_original_transaction_id text COLLATE "C" NOT NULL DEFAULT '',
    after_environment text COLLATE "C" NOT NULL DEFAULT ''
);

INSERT INTO catalog_projection DEFAULT VALUES;
