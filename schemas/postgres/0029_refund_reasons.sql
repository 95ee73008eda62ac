-- Why the customer asks for a refund, and answers of the first version, for purchases of Advanced Commerce.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The member consumptionRequestReason of a CONSUMPTION_REQUEST, as Apple writes it; null in older rows.
ALTER TABLE notifications ADD COLUMN consumption_request_reason text COLLATE "C";

-- An answer stays as Apple got it, also for the roles that may write the table.
CREATE FUNCTION refuse_change_of_answers() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
BEGIN
    RAISE EXCEPTION 'an answer to Apple stays as it was: % is refused', lower(TG_OP)
        USING ERRCODE = 'restrict_violation';
END
$$;

REVOKE EXECUTE ON FUNCTION refuse_change_of_answers FROM PUBLIC;

CREATE TRIGGER answers_stay BEFORE UPDATE OF answer, evidence ON refund_requests
    FOR EACH ROW WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION refuse_change_of_answers();
CREATE TRIGGER requests_stay BEFORE DELETE OR TRUNCATE ON refund_requests
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_answers();

-- The preference of an answer: a word of the second version, or a number of the first.
CREATE FUNCTION refund_preference(answer json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN answer IS NULL THEN NULL
        WHEN answer ->> 'refundPreference' = '1' THEN 'grant_full'
        WHEN answer ->> 'refundPreference' = '2' THEN 'decline'
        ELSE lower(coalesce(answer ->> 'refundPreference', 'none'))
    END;
END;

CREATE OR REPLACE VIEW refunds AS
    SELECT
        asked.uuid AS request_id, asked.environment, asked.bundle_id, asked.original_transaction_id,
        asked.transaction_id, paid.product_id, paid.product_type, paid.user_id,
        paid.price * paid.quantity AS price, paid.currency,
        timestamptz_from_ms(asked.signed_date_ms) AS requested_at,
        timestamptz_from_ms(asked.deadline_ms) AS deadline,
        CASE
            WHEN asked.outcome IS NOT NULL THEN asked.outcome
            WHEN timestamptz_from_ms(asked.deadline_ms) > now() THEN 'waiting'
            ELSE 'late'
        END AS outcome,
        asked.ended_at, refund_preference(asked.answer) AS preference,
        asked.answer, asked.evidence, asked.error_code,
        act.acted_by AS decided_by, act.reason,
        CASE came.type WHEN 'REFUND' THEN 'refunded' WHEN 'REFUND_DECLINED' THEN 'declined'
            WHEN 'REFUND_REVERSED' THEN 'reversed' END AS decision,
        timestamptz_from_ms(came.signed_date_ms) AS decision_at,
        CASE WHEN came.type = 'REFUND' THEN paid.refund_percentage END AS refund_percentage,
        request.consumption_request_reason AS request_reason
    FROM refund_requests AS asked
    LEFT JOIN notifications AS request
        ON request.uuid = asked.uuid AND request.environment = asked.environment
    LEFT JOIN purchases AS paid
        ON paid.original_transaction_id = asked.original_transaction_id
        AND paid.transaction_id = asked.transaction_id AND paid.environment = asked.environment
        AND paid.bundle_id = asked.bundle_id
    LEFT JOIN LATERAL (
        SELECT acted_by, reason FROM refund_acts AS act
        WHERE act.uuid = asked.uuid AND act.environment = asked.environment
        ORDER BY act.act_id DESC LIMIT 1
    ) AS act ON true
    LEFT JOIN LATERAL (
        SELECT came.type, came.signed_date_ms FROM notifications AS came
        WHERE came.transaction_id = asked.transaction_id AND came.environment = asked.environment
            AND came.type IN ('REFUND', 'REFUND_DECLINED', 'REFUND_REVERSED')
            AND came.signed_date_ms >= asked.signed_date_ms
        ORDER BY came.signed_date_ms DESC LIMIT 1
    ) AS came ON true;
