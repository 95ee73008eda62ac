-- Contracts: grace_periods unique
-- What a renewal info states for a time and a newer one does not repeat: graces, and whatever else
-- becomes a rule. A kind more needs no migration.
ALTER TABLE grace_periods RENAME TO renewal_spans;
ALTER TABLE renewal_spans RENAME COLUMN expires_date_ms TO end_ms;
-- Of a grace the end of the period that could not be renewed; null if Apple did not say.
ALTER TABLE renewal_spans RENAME COLUMN renewal_date_ms TO start_ms;
-- The default is that of the version before.
ALTER TABLE renewal_spans ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'grace';

DO
$$
BEGIN
    EXECUTE (
        SELECT format('ALTER TABLE renewal_spans DROP CONSTRAINT %I', conname) FROM pg_constraint
        WHERE conrelid = 'renewal_spans'::regclass AND contype = 'u');
END
$$;
ALTER TABLE renewal_spans ADD CONSTRAINT renewal_spans_key UNIQUE NULLS NOT DISTINCT
    (original_transaction_id, environment, trust, kind, end_ms, start_ms);

COMMENT ON TABLE renewal_spans IS
    'Every span of time that a renewal info ever stated, such as a billing grace period. Written by '
    'entitle-worker, kept forever.';

-- Workers of the version before read and write it by this name.
CREATE VIEW grace_periods AS
    SELECT environment, original_transaction_id, trust, end_ms AS expires_date_ms,
        start_ms AS renewal_date_ms
    FROM renewal_spans WHERE kind = 'grace';

COMMENT ON VIEW grace_periods IS
    'The graces of renewal_spans, for workers of schema version 11 while they are replaced.';
