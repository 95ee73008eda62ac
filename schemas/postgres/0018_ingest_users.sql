-- The user whom the ingestion service named in the header of a raw record, beside a signed
-- transaction: of several the one in the earliest record. What stood here came from bodies, which
-- apps write.
TRUNCATE ownership_claims;

ALTER TABLE ownership_claims
    DROP COLUMN signed_date_ms,
    ADD COLUMN raw_timestamp_ms bigint NOT NULL,
    ADD COLUMN raw_partition bigint NOT NULL,
    ADD COLUMN raw_offset bigint NOT NULL;

COMMENT ON TABLE ownership_claims IS
    'Users whom the ingestion service named, where linking.trust_ingest_user is set.';

DELETE FROM dedupe_revisions WHERE kind = 'claim';
