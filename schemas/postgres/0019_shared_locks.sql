-- Waits until every transaction that now shares the advisory lock of that name has ended.
--
-- Asking for the lock itself would do the same, but what is asked for and not given yet stands
-- before all who come later: one process that stands still while it shares the lock would keep
-- everybody from sharing it. Here nobody waits but the caller, who need not wait either for those
-- that come later: they see what was committed before this was called.
CREATE FUNCTION wait_for_sharers(name text) RETURNS void
    LANGUAGE plpgsql AS
$$
DECLARE
    number CONSTANT bigint := hashtextextended(name, 0);
    pause double precision := 0.002;
    sharers text[];
BEGIN
    LOOP
        SELECT array_agg(virtualtransaction) INTO sharers FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND objsubid = 1
            AND classid = ((number >> 32) & 4294967295)::oid
            AND objid = (number & 4294967295)::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND pid <> pg_backend_pid()
            AND (sharers IS NULL OR virtualtransaction = ANY (sharers));
        EXIT WHEN sharers IS NULL;
        PERFORM pg_sleep(pause);
        pause := least(pause * 2, 0.1);
    END LOOP;
END
$$;
