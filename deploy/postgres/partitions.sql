-- Splits the tables of facts and of their results into partitions by hash. Optional: for a database
-- that has outgrown one file for each table. The programs run on it unchanged, because names,
-- columns, keys, rules, rights, views and functions stay the same; sizing.md names the ID that each
-- table is split by, and the cost.
--
--   psql --set ON_ERROR_STOP=1 --command 'SET partitions.count = 8' \
--       --file deploy/postgres/partitions.sql
--
-- as the owner of the tables, after `pipeline migrate`; a database without rows is done in a second.
-- With rows, stop link-worker and entitle-worker before: each table is copied in a transaction of its
-- own, which blocks writers, and readers only while the copy replaces the table. A table that is
-- partitioned already is left as it is, so an interrupted run can be repeated. It needs room for a
-- second copy of the largest table.

CREATE OR REPLACE PROCEDURE pg_temp.partition_by_hash(table_name text, key_column text)
    LANGUAGE plpgsql AS
$$
DECLARE
    whole CONSTANT regclass := table_name::regclass;
    partition_count CONSTANT integer :=
        coalesce(nullif(current_setting('partitions.count', true), ''), '8')::integer;
    copied CONSTANT text := table_name || '_partitioned';
    kind CONSTANT "char" := (SELECT relkind FROM pg_class WHERE oid = whole);
    -- Storage parameters of the partitions: a partitioned table has no storage of its own.
    options CONSTANT text := (
        SELECT concat_ws(', ', array_to_string(main.reloptions, ', '), (
            SELECT string_agg('toast.' || option, ', ') FROM unnest(toast.reloptions) AS option))
        FROM pg_class AS main LEFT JOIN pg_class AS toast ON toast.oid = main.reltoastrelid
        WHERE main.oid = whole);
    -- Views, functions and triggers are bound to the table and not to its name: created again, they
    -- are bound to the new one, and keep their rights.
    dependents CONSTANT text[] := ARRAY(
        SELECT pg_get_functiondef(objid) FROM pg_depend
        WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_class'::regclass
            AND refobjid = whole
        UNION
        SELECT format('CREATE OR REPLACE VIEW %s %s AS %s', view.oid::regclass,
            'WITH (' || array_to_string(view.reloptions, ', ') || ')', pg_get_viewdef(view.oid))
        FROM pg_depend JOIN pg_rewrite AS rule ON rule.oid = objid
        JOIN pg_class AS view ON view.oid = rule.ev_class
        WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass
            AND refobjid = whole AND view.oid <> whole
        UNION
        SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = whole AND NOT tgisinternal);
    rows_copied bigint;
    name text;
    command text;
BEGIN
    IF kind = 'p' THEN
        RAISE NOTICE '% is partitioned already', table_name;
        RETURN;
    END IF;
    IF partition_count NOT BETWEEN 2 AND 64 THEN
        RAISE EXCEPTION 'partitions.count is %, expected 2 to 64', partition_count;
    END IF;
    IF kind <> 'r'
        OR EXISTS (SELECT FROM pg_trigger WHERE tgrelid = whole AND tgisinternal)
        OR EXISTS (SELECT FROM pg_publication_rel WHERE prrelid = whole)
        OR EXISTS (SELECT FROM pg_inherits WHERE whole IN (inhrelid, inhparent))
        OR EXISTS (SELECT FROM pg_policy WHERE polrelid = whole)
        OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = whole AND attidentity <> '')
    THEN
        RAISE EXCEPTION '% has what a copy would lose: foreign keys, a publication, '
            'policies or an identity', table_name;
    END IF;

    -- A snapshot from before the lock would miss rows written in between.
    PERFORM require_read_committed();
    EXECUTE format('LOCK TABLE %s IN SHARE MODE', whole);
    EXECUTE format(
        'CREATE TABLE %I (LIKE %s INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (%I)',
        copied, whole, key_column);
    FOR remainder IN 0..partition_count - 1 LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
            table_name || '_' || lpad(remainder::text, 2, '0'), copied, partition_count, remainder,
            'WITH (' || nullif(options, '') || ')');
    END LOOP;
    EXECUTE format('INSERT INTO %I SELECT * FROM %s', copied, whole);
    GET DIAGNOSTICS rows_copied = ROW_COUNT;

    -- The former table's indexes are renamed first, without a lock that readers notice.
    FOR name, command IN
        SELECT file.relname, CASE
            WHEN k.oid IS NULL THEN format('CREATE INDEX %I ON %I %s', file.relname, copied,
                substring(pg_get_indexdef(indexrelid) FROM ' USING .*'))
            ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', copied, conname,
                pg_get_constraintdef(k.oid))
            END
        FROM pg_index JOIN pg_class AS file ON file.oid = indexrelid
        LEFT JOIN pg_constraint AS k ON k.conindid = indexrelid AND k.conrelid = whole
        WHERE indrelid = whole
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', name, 'whole_' || left(name, 57));
        EXECUTE command;
    END LOOP;

    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', whole);
    FOR command IN
        SELECT format('ALTER TABLE %s OWNER TO %I', tree.relid, pg_get_userbyid(known.relowner))
        FROM pg_class AS known, pg_partition_tree(copied::regclass) AS tree WHERE known.oid = whole
        UNION ALL
        SELECT format('GRANT %s %s ON %I TO %s %s', given.privilege_type, '(' || quote_ident(held.name) || ')', copied,
            CASE given.grantee WHEN 0 THEN 'PUBLIC'
                ELSE quote_ident(pg_get_userbyid(given.grantee)) END,
            CASE WHEN given.is_grantable THEN 'WITH GRANT OPTION' END)
        FROM (
            SELECT NULL AS name, relacl AS acl FROM pg_class WHERE oid = whole
            UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = whole AND attacl IS NOT NULL
        ) AS held, aclexplode(held.acl) AS given
        UNION ALL
        SELECT format('COMMENT ON TABLE %I IS %L', copied, obj_description(whole, 'pg_class'))
        UNION ALL
        SELECT format('ALTER TABLE %s RENAME TO %I', whole, table_name || '_whole')
        UNION ALL
        SELECT format('ALTER TABLE %I RENAME TO %I', copied, table_name)
    LOOP
        EXECUTE command;
    END LOOP;
    FOREACH command IN ARRAY dependents LOOP
        EXECUTE command;
    END LOOP;
    EXECUTE format('DROP TABLE %I', table_name || '_whole');
    -- Autovacuum analyzes partitions and never the table above them.
    EXECUTE format('ANALYZE %I', table_name);
    RAISE NOTICE '% has % partitions by hash of %, % rows copied', table_name, partition_count,
        key_column, rows_copied;
END
$$;

CALL pg_temp.partition_by_hash('ownership_facts', 'original_transaction_id');
CALL pg_temp.partition_by_hash('ownership_renewals', 'original_transaction_id');
CALL pg_temp.partition_by_hash('ownership_claims', 'original_transaction_id');
CALL pg_temp.partition_by_hash('ownership_restores', 'original_transaction_id');
CALL pg_temp.partition_by_hash('owners', 'original_transaction_id');
CALL pg_temp.partition_by_hash('renewals', 'original_transaction_id');
CALL pg_temp.partition_by_hash('renewal_spans', 'original_transaction_id');
CALL pg_temp.partition_by_hash('entitlements', 'original_transaction_id');
CALL pg_temp.partition_by_hash('closed_periods', 'original_transaction_id');
CALL pg_temp.partition_by_hash('ledger', 'original_transaction_id');
-- Its key, by which a transaction counts once, holds no other ID.
CALL pg_temp.partition_by_hash('transactions', 'transaction_id');

DROP PROCEDURE pg_temp.partition_by_hash;
