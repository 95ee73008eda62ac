-- `pipeline grants` grants rights, role by role. This file makes narrow rights suffice: functions that
-- write for their caller run with their owner's rights, and no function looks a name up in a schema
-- of the caller's choice.
--
-- Functions with an SQL body are bound to what they name when they are made (PostgreSQL's manual,
-- CREATE FUNCTION, sql_body); those of PL/pgSQL look names up at each call. A table of pg_temp would
-- come before all others unless it is named, so it is named last.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

ALTER FUNCTION account_links_normalize SET search_path FROM CURRENT;
ALTER FUNCTION catalog_changed SET search_path FROM CURRENT;
ALTER FUNCTION dedupe_prune SET search_path FROM CURRENT;
ALTER FUNCTION lock_accounts SET search_path FROM CURRENT;
ALTER FUNCTION lock_in_order SET search_path FROM CURRENT;
ALTER FUNCTION lock_ownership SET search_path FROM CURRENT;
ALTER FUNCTION lock_projection SET search_path FROM CURRENT;
ALTER FUNCTION lock_shared SET search_path FROM CURRENT;
ALTER FUNCTION lock_users SET search_path FROM CURRENT;
ALTER FUNCTION record_grant_change SET search_path FROM CURRENT;
ALTER FUNCTION refuse_change_of_actions SET search_path FROM CURRENT;
ALTER FUNCTION require_environment SET search_path FROM CURRENT;
ALTER FUNCTION require_read_committed SET search_path FROM CURRENT;
ALTER FUNCTION wait_for_sharers SET search_path FROM CURRENT;

-- Triggers: a writer of one table needs no right to write the tables that follow from it.
ALTER FUNCTION account_links_changed SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION account_links_emptied SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION apply_dead_letter_actions SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION count_changed_dead_letters SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION count_new_dead_letters SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION count_removed_dead_letters SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION forget_dead_letter_counts SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION publish_changes SECURITY DEFINER SET search_path FROM CURRENT;

-- Functions that people and services call: their rights end at the function. Nobody may call one until
-- it is granted; require_history only compares an instant.
ALTER FUNCTION forget_user SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION grant_entitlement SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION ledger_debit SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION reapply_ownership_rules SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION require_history SECURITY DEFINER SET search_path FROM CURRENT;
ALTER FUNCTION revoke_grant SECURITY DEFINER SET search_path FROM CURRENT;

REVOKE EXECUTE ON FUNCTION
    account_links_changed, account_links_emptied, apply_dead_letter_actions,
    count_changed_dead_letters, count_new_dead_letters, count_removed_dead_letters,
    forget_dead_letter_counts, forget_user, grant_entitlement, ledger_debit, publish_changes,
    reapply_ownership_rules, revoke_grant
FROM PUBLIC;

-- Before PostgreSQL 15 everybody could create in `public`, and a database that was upgraded from there
-- still lets everybody.
DO
$$
BEGIN
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
END
$$;
