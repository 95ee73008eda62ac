-- Plans: what another catalog, other links or another rule of linking would do to users, as it was computed from
-- one snapshot, so that exactly that can be applied, and be compared with what then happened.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE TABLE plans (
    plan bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The instant of the snapshot, from which users are counted.
    planned_at timestamptz NOT NULL,
    planned_by text NOT NULL DEFAULT session_user,
    -- The person, beside the database's user.
    requested_by text CHECK (octet_length(requested_by) BETWEEN 1 AND 255),
    reason text CHECK (octet_length(reason) BETWEEN 1 AND 2000),
    -- The catalog in force; 0 for none.
    catalog_version integer NOT NULL,
    -- Null for a plan by the catalog in force.
    catalog json CHECK (octet_length(catalog::text) <= 16777216),
    -- What was planned, in a few words: a member for each input, such as catalog or policy.
    input json NOT NULL CHECK (octet_length(input::text) <= 1048576),
    -- The members of `pipeline plan --json` without samples.
    result json NOT NULL CHECK (octet_length(result::text) <= 33554432)
);

COMMENT ON TABLE plans IS
    'What was planned, its maker, and what it would do to users; holds no user''s ID. Written by `pipeline plan` '
    'and `pipeline catalog`, and never changed; kept are the newest 1,000, and those that were applied.';

-- The plan by which it was applied; null without one.
ALTER TABLE catalog_versions ADD COLUMN plan bigint;

CREATE FUNCTION prune_plans() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
$$
BEGIN
    DELETE FROM plans AS former
    WHERE former.plan <= NEW.plan - 1000
        AND NOT EXISTS (SELECT FROM catalog_versions AS applied WHERE applied.plan = former.plan);
    RETURN NULL;
END
$$;

CREATE TRIGGER bounded AFTER INSERT ON plans FOR EACH ROW EXECUTE FUNCTION prune_plans();

REVOKE EXECUTE ON FUNCTION prune_plans FROM PUBLIC;

-- A change by a catalog names the plan that it was applied by.
CREATE OR REPLACE FUNCTION explained_change(change changes) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN json_build_object(
        'user_id', change.user_id, 'version', change.version,
        'changed_at', instant_text(change.changed_at),
        'entitlement', change.entitlement_key,
        'original_transaction_id', change.original_transaction_id,
        'old', explained_periods(change.old_periods),
        'new', explained_periods(change.new_periods),
        'ownership_type', change.ownership_type, 'seats', change.seats,
        'additional_transaction_reason', change.additional_transaction_reason,
        'status', explained_subscription_status(
            change.will_renew, change.renews_to, change.is_in_billing_retry, change.price_increase,
            change.grace, change.expiration_reason),
        'cause', change.cause, 'cause_id', change.cause_id, 'event', change.event,
        'former_user_id', change.former_user_id,
        'catalog_version', change.catalog_version,
        'plan', CASE change.cause WHEN 'catalog' THEN (
            SELECT applied.plan FROM catalog_versions AS applied WHERE applied.version = change.catalog_version) END,
        'source', change.source_topic || '/' || change.source_partition || '/' || change.source_offset);
