-- What people and services write into these tables ends up in keys and indexes of others, which hold
-- no more than a few hundred bytes: what does not fit is refused where it comes in.
CREATE FUNCTION is_identifier(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN octet_length(value) BETWEEN 1 AND 255
        AND value !~ '[\u0001-\u001f\u007f-\u009f]';

COMMENT ON FUNCTION is_identifier IS '1 to 255 bytes without control characters.';

ALTER TABLE account_links
    ADD CONSTRAINT account_links_of_identifiers CHECK (
        is_identifier(key) AND is_identifier(user_id)
        AND (environment = '' OR is_identifier(environment))
        AND (bundle_id = '' OR is_identifier(bundle_id))
    );

ALTER TABLE grants
    ADD CONSTRAINT grants_of_identifiers CHECK (
        is_identifier(user_id) AND is_identifier(entitlement_key) AND is_identifier(environment)
    );

ALTER TABLE ledger_debits
    ADD CONSTRAINT ledger_debits_of_identifiers CHECK (
        is_identifier(user_id) AND is_identifier(reference) AND is_identifier(environment)
        AND is_identifier(currency)
    );

-- A purchase that PostgreSQL refuses to store with its new owner is judged again later, alone, and
-- nothing else waits for it.
ALTER TABLE account_link_changes
    ADD COLUMN due_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN attempts integer NOT NULL DEFAULT 0;
