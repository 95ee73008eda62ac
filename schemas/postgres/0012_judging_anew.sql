-- Emptying account_links takes every link back, and whoever judges by them has to hear of it. The
-- rows are still there before it.
CREATE FUNCTION account_links_emptied() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO account_link_changes (kind, environment, bundle_id, key)
    SELECT kind, environment, bundle_id, key FROM account_links;
    IF FOUND THEN
        PERFORM pg_notify('account_links', '');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER emptied BEFORE TRUNCATE ON account_links
    FOR EACH STATEMENT EXECUTE FUNCTION account_links_emptied();

-- Has running workers find the owner of every purchase anew, by the links and by their settings as
-- they are: the same as if each had a link of its own that has changed.
--
-- Returns how many purchases there are.
CREATE FUNCTION judge_owners_anew() RETURNS bigint
    LANGUAGE plpgsql AS
$$
DECLARE
    purchases bigint;
BEGIN
    INSERT INTO account_link_changes (kind, environment, bundle_id, key)
    SELECT 'original_transaction_id', environment, bundle_id, original_transaction_id FROM owners;
    GET DIAGNOSTICS purchases = ROW_COUNT;
    PERFORM pg_notify('account_links', '');
    RETURN purchases;
END
$$;
