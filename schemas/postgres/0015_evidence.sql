-- Who did what, and when, is written by the database: the session and its clock, not the writer's word.
-- `who` is the person that a tool names; database_user is the role that signed in to write it.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Null in rows that were written before.
ALTER TABLE dead_letter_actions ADD COLUMN database_user text COLLATE "C";
ALTER TABLE dead_letter_actions ALTER COLUMN database_user SET DEFAULT session_user;
ALTER TABLE dead_letter_replays ADD COLUMN database_user text COLLATE "C";
ALTER TABLE dead_letter_replays ALTER COLUMN database_user SET DEFAULT session_user;
ALTER TABLE forgotten_users ADD COLUMN database_user text COLLATE "C";
ALTER TABLE forgotten_users ALTER COLUMN database_user SET DEFAULT session_user;
ALTER TABLE grants ADD COLUMN database_user text COLLATE "C";
ALTER TABLE account_links ADD COLUMN database_user text COLLATE "C";

-- The functions below check the kinds, each those of its callers.
ALTER TABLE dead_letter_actions DROP CONSTRAINT dead_letter_actions_action_check;

-- Appends an action of one kind about each of these letters; about none if the array holds a null.
CREATE FUNCTION append_dead_letter_actions(
    kinds text[],
    who text,
    action text,
    why text,
    replay bigint,
    dead_letter_ids text[],
    details text[]
) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
#variable_conflict use_variable
DECLARE
    written bigint;
BEGIN
    IF cardinality(dead_letter_ids) = 0 THEN
        RETURN 0;
    END IF;
    IF action = ANY (kinds) IS NOT TRUE THEN
        RAISE EXCEPTION 'an action % is not recorded by this function', action
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF action IN ('revealed', 'exported') AND coalesce(why, '') = '' THEN
        RAISE EXCEPTION 'an action % needs a reason', action USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO dead_letter_actions (who, action, why, replay, dead_letter_id, detail)
    SELECT who, action, why, replay, given.id, given.detail
    FROM unnest(dead_letter_ids, details) WITH ORDINALITY AS given (id, detail, place)
    ORDER BY given.place;
    GET DIAGNOSTICS written = ROW_COUNT;
    RETURN written;
END
$$;

CREATE FUNCTION record_dead_letter_decision(
    who text, action text, why text, replay bigint, dead_letter_ids text[], details text[]
) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    RETURN append_dead_letter_actions(
        ARRAY['resolved', 'suppressed', 'reopened', 'revealed', 'exported', 'signed_in', 'signed_out'],
        who, action, why, replay, dead_letter_ids, details);

COMMENT ON FUNCTION record_dead_letter_decision IS
    'Records what an investigator decided, was shown or exported, and who used the console.';

CREATE FUNCTION record_dead_letter_replay(
    who text, action text, why text, replay bigint, dead_letter_ids text[], details text[]
) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    RETURN append_dead_letter_actions(
        ARRAY['replayed', 'replay_accepted', 'replay_refused', 'replay_started', 'replay_stopped',
            'replay_completed', 'redacted'],
        who, action, why, replay, dead_letter_ids, details);

COMMENT ON FUNCTION record_dead_letter_replay IS
    'Records the steps and outcomes of a replay, and redactions.';

-- Runs before a row is written, and replaces the writer's word.
CREATE FUNCTION stamp_row() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'account_links' THEN
            NEW.linked_at := now();
            NEW.database_user := session_user;
        WHEN 'catalog_versions' THEN
            NEW.applied_at := now();
            NEW.applied_by := session_user;
        WHEN 'grants' THEN
            NEW.database_user := session_user;
        WHEN 'dead_letter_replays' THEN
            NEW.ended_at := CASE WHEN NEW.state NOT IN ('prepared', 'running')
                THEN clock_timestamp() END;
        WHEN 'dead_letter_replay_records' THEN
            NEW.sent_at := CASE WHEN NEW.sent_offset IS NULL THEN NULL
                WHEN NEW.sent_offset = OLD.sent_offset THEN OLD.sent_at
                ELSE clock_timestamp() END;
            NEW.outcome_at := CASE WHEN NEW.outcome IS NULL THEN NULL
                WHEN NEW.outcome = OLD.outcome THEN OLD.outcome_at
                ELSE clock_timestamp() END;
    END CASE;
    RETURN NEW;
END
$$;

CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON account_links
    FOR EACH ROW EXECUTE FUNCTION stamp_row();
CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON catalog_versions
    FOR EACH ROW EXECUTE FUNCTION stamp_row();
CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON grants
    FOR EACH ROW EXECUTE FUNCTION stamp_row();
CREATE TRIGGER stamped BEFORE UPDATE OF state ON dead_letter_replays
    FOR EACH ROW EXECUTE FUNCTION stamp_row();
CREATE TRIGGER stamped BEFORE UPDATE ON dead_letter_replay_records
    FOR EACH ROW EXECUTE FUNCTION stamp_row();

-- Functions that only other functions and triggers call. `pipeline grants` takes the others that change
-- or lock anything from PUBLIC, in the transaction that gives them to their roles.
REVOKE EXECUTE ON FUNCTION
    account_links_normalize, append_dead_letter_actions, catalog_changed, record_dead_letter_decision,
    record_dead_letter_replay, record_grant_change, refuse_change_of_actions, stamp_row
FROM PUBLIC;
