-- App downloads: what Apple says of a person's copy of an app, apart from any purchase.

-- One row per app and account: the newest app transaction of it. It grants nothing by itself; its
-- ID is what family members' and old purchases are linked by.
CREATE TABLE app_downloads (
    environment text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    app_transaction_id text COLLATE "C" NOT NULL,
    -- The revision: the newest date of signing, of equal dates the greater content hash.
    signed_date_ms bigint NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    trust text COLLATE "C" NOT NULL,
    -- The version that was downloaded first, and when; in the Sandbox always 1.0 and 2013-08-01.
    original_application_version text COLLATE "C",
    original_purchase_date_ms bigint,
    original_platform text COLLATE "C",
    -- Null where the app was not ordered before its release.
    preorder_date_ms bigint,
    application_version text COLLATE "C",
    PRIMARY KEY (app_transaction_id, environment, bundle_id)
) WITH (fillfactor = 90);

COMMENT ON TABLE app_downloads IS
    'The newest app transaction of each account and app; all their contents are in revisions.';
