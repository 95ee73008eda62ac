-- A receipt lifts no revocation, not even one that an older receipt brought: beside the newest
-- receipt's facts stands what the newest of those brought that carry a revocation. How new that is,
-- its own signed date says and not the newest receipt's.
--
-- Of a receipt that took something back: its signed date and content hash. Null where there is no
-- revocation, and of a JWS, whose newest revision brings and lifts it.
ALTER TABLE transactions
    ADD COLUMN revoked_signed_date_ms bigint,
    ADD COLUMN revoked_content_hash bytea CHECK (length(revoked_content_hash) = 32);

ALTER TABLE ownership_facts
    ADD COLUMN revoked_signed_date_ms bigint,
    ADD COLUMN revoked_content_hash bytea CHECK (length(revoked_content_hash) = 32);

UPDATE transactions
SET revoked_signed_date_ms = signed_date_ms, revoked_content_hash = content_hash
WHERE track = 'receipt' AND revocation_date_ms IS NOT NULL;

UPDATE ownership_facts
SET revoked_signed_date_ms = signed_date_ms, revoked_content_hash = content_hash
WHERE track = 'receipt' AND revocation_date_ms IS NOT NULL;
