-- History is archived by deploy/postgres/archive.sql, whose files are read with \copy. `restored_at` is set
-- for what an earlier version has put back.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

COMMENT ON TABLE history_archives IS
    'What was taken out of the history, up to when, and in which file it lies. Written by '
    'deploy/postgres/archive.sql, kept forever.';
COMMENT ON TABLE revisions IS
    'Every content ever seen, once per key, with the raw record that first brought it. Written '
    'by entitle-worker: facts can be read from them again. What was superseded long ago may be '
    'archived; the newest of each key is kept forever.';
COMMENT ON TABLE notifications IS
    'Every genuine notification, also those that carry no fact. History, never a source of rights. '
    'Written by entitle-worker; old ones may be archived.';
COMMENT ON TABLE changes IS
    'What a user could use before and after, and why it became different. Written by '
    'entitle-worker and by the functions of grants. What was superseded long ago may be archived, '
    'and never the newest of an entitlement.';

CREATE OR REPLACE FUNCTION require_history(known_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT AS
$$
DECLARE
    kept_since timestamptz;
BEGIN
    SELECT max(archived_before) INTO kept_since FROM history_archives
    WHERE table_name = 'changes' AND restored_at IS NULL;
    IF known_at < kept_since THEN
        RAISE EXCEPTION 'what was known before % is in the files that history_archives lists',
            kept_since USING ERRCODE = 'HA001';
    END IF;
    RETURN true;
END
$$;
