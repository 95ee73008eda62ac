-- What an app, support and finance may see of subscriptions and payments, as Apple signed them.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A user's purchases. Those of nobody are in owners_unowned.
CREATE INDEX IF NOT EXISTS owners_of_user ON owners (user_id) WHERE user_id IS NOT NULL;

-- A payload is verified, but a member that no column holds may have any type: what is no number is null,
-- and never an error of the query.
CREATE FUNCTION payload_number(payload json, member text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substring((payload -> member)::text FROM '^(-?[0-9]{1,18})(?:\.[0-9]+)?$')::bigint;

-- A date of the years 1 to 9999.
CREATE FUNCTION payload_date(payload json, member text) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN payload_number(payload, member) BETWEEN -62135596800000 AND 253402300799999
        THEN timestamptz_from_ms(payload_number(payload, member)) END;

-- Apple's offerType in a word; a number that Apple adds later stays a number.
CREATE FUNCTION offer_name(offer_type bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE offer_type WHEN 1 THEN 'introductory' WHEN 2 THEN 'promotional' WHEN 3 THEN 'offer_code'
        WHEN 4 THEN 'win_back' WHEN 5 THEN 'retention' ELSE offer_type::text END;

-- Each transaction once, its tracks merged as the projection does (MergedTransaction). Members without a
-- column are those of the newest content: of the JWS, and of the receipt where there is no JWS.
CREATE VIEW merged_transactions AS
    SELECT
        fact.environment, fact.bundle_id, fact.original_transaction_id, fact.transaction_id, fact.trust,
        fact.product_id, coalesce(fact.product_type, receipt.product_type) AS product_type,
        fact.purchase_date_ms,
        CASE
            WHEN receipt.signed_date_ms > fact.signed_date_ms
                AND receipt.expires_date_ms / 1000 IS DISTINCT FROM fact.expires_date_ms / 1000
            THEN coalesce(receipt.expires_date_ms, fact.expires_date_ms)
            ELSE coalesce(fact.expires_date_ms, receipt.expires_date_ms)
        END AS expires_date_ms,
        CASE
            WHEN coalesce(receipt.revoked_signed_date_ms, receipt.signed_date_ms) > fact.signed_date_ms
                AND receipt.revocation_date_ms / 1000 IS DISTINCT FROM fact.revocation_date_ms / 1000
            THEN coalesce(receipt.revocation_date_ms, fact.revocation_date_ms)
            ELSE fact.revocation_date_ms
        END AS revocation_date_ms,
        fact.revocation_percentage, fact.revocation_reason, fact.revocation_type,
        coalesce(fact.is_upgraded, receipt.is_upgraded, false) AS is_upgraded,
        coalesce(fact.quantity, receipt.quantity, 1) AS quantity,
        fact.ownership_type, fact.subscription_group_id,
        coalesce(fact.web_order_line_item_id, receipt.web_order_line_item_id) AS web_order_line_item_id,
        fact.transaction_reason, fact.additional_transaction_reason,
        payload_date(signed.payload, 'originalPurchaseDate') AS original_purchase_date,
        payload_number(signed.payload, 'price') AS price,
        signed.payload ->> 'currency' AS currency,
        signed.payload ->> 'storefront' AS storefront,
        -- A receipt has flags instead.
        coalesce(
            offer_name(payload_number(signed.payload, 'offerType')),
            CASE WHEN 'true' IN (signed.payload ->> 'isTrialPeriod', signed.payload ->> 'isInIntroOfferPeriod')
                THEN 'introductory'
                WHEN fact.track = 'receipt' AND signed.payload -> 'offerIdentifier' IS NOT NULL
                THEN 'promotional' END
        ) AS offer_type,
        signed.payload ->> 'offerIdentifier' AS offer_id,
        signed.payload ->> 'offerDiscountType' AS offer_discount_type,
        signed.payload ->> 'offerPeriod' AS offer_period,
        -- Null for an offer of which Apple did not say what it costs, as before October 2023.
        coalesce(
            signed.payload ->> 'offerDiscountType' = 'FREE_TRIAL', signed.payload ->> 'isTrialPeriod' = 'true',
            CASE WHEN fact.track = 'jws' AND signed.payload -> 'offerType' IS NULL THEN false END
        ) AS is_trial,
        signed.payload ->> 'billingPlanType' AS billing_plan,
        signed.payload -> 'commitmentInfo' AS commitment,
        signed.payload ->> 'previousOriginalTransactionId' AS previous_original_transaction_id
    FROM transactions AS fact
    LEFT JOIN transactions AS receipt
        ON receipt.transaction_id = fact.transaction_id AND receipt.environment = fact.environment
        AND receipt.bundle_id = fact.bundle_id AND receipt.track = 'receipt' AND fact.track = 'jws'
    LEFT JOIN revisions AS signed
        ON signed.id = fact.transaction_id AND signed.kind = 'transaction'
        AND signed.environment = fact.environment AND signed.bundle_id = fact.bundle_id
        AND signed.trust = '' AND signed.track = fact.track AND signed.content_hash = fact.content_hash
    WHERE fact.track = 'jws' OR NOT EXISTS (
        SELECT FROM transactions AS jws
        WHERE jws.transaction_id = fact.transaction_id AND jws.environment = fact.environment
            AND jws.bundle_id = fact.bundle_id AND jws.track = 'jws');

COMMENT ON VIEW merged_transactions IS 'Each transaction once, for the views of subscriptions and purchases.';

CREATE VIEW purchases AS
    SELECT
        paid.environment, paid.bundle_id, paid.original_transaction_id, paid.transaction_id,
        -- The rule of Projection.bought: a restored purchase has another transaction ID.
        concat_ws('/', paid.original_transaction_id, paid.product_id, CASE
            WHEN paid.additional_transaction_reason IS NOT NULL THEN paid.transaction_id
            WHEN paid.product_type IS DISTINCT FROM 'Non-Consumable'
            THEN coalesce(paid.web_order_line_item_id, (paid.purchase_date_ms / 1000)::text) END
        ) AS payment_id,
        paid.product_id, paid.product_type,
        timestamptz_from_ms(paid.purchase_date_ms) AS purchased_at, paid.original_purchase_date,
        timestamptz_from_ms(paid.expires_date_ms) AS expires_at, paid.quantity, paid.price, paid.currency,
        paid.storefront, paid.offer_type, paid.offer_id, paid.offer_discount_type, paid.offer_period,
        paid.is_trial, paid.billing_plan, paid.transaction_reason, paid.additional_transaction_reason,
        paid.ownership_type, paid.is_upgraded, paid.web_order_line_item_id,
        timestamptz_from_ms(paid.revocation_date_ms) AS revoked_at, paid.revocation_type,
        CASE
            WHEN paid.revocation_date_ms IS NULL THEN NULL
            WHEN paid.revocation_type IN ('FAMILY_REVOKE', 'ASSIGNMENT_REVOKE') THEN 0
            ELSE trim_scale(coalesce(paid.revocation_percentage, 100000) / 1000.0)
        END AS refund_percentage,
        CASE paid.revocation_reason WHEN 0 THEN 'other' WHEN 1 THEN 'app_issue'
            ELSE paid.revocation_reason::text END AS refund_reason,
        owner.user_id
    FROM merged_transactions AS paid
    LEFT JOIN owners AS owner
        ON owner.original_transaction_id = paid.original_transaction_id
        AND owner.environment = paid.environment AND owner.bundle_id = paid.bundle_id;

COMMENT ON VIEW purchases IS
    'Each transaction as Apple signed it last. price is in thousandths of the currency and for one of '
    'quantity, refund_percentage in percent; transaction IDs of one payment share payment_id. '
    'user_id is the present owner.';

CREATE VIEW subscriptions AS
    SELECT
        user_id, environment, bundle_id, original_transaction_id, product_id, subscription_group_id, status,
        least(coalesce(grace_until, expires_at), revoked_at) AS active_until,
        is_renewing AND status IN ('active', 'in_grace', 'in_billing_retry', 'upgraded') AS will_renew,
        CASE WHEN is_renewing AND status IN ('active', 'in_grace', 'in_billing_retry', 'upgraded')
            THEN renews_to END AS renews_to,
        renews_at, expires_at, grace_until, revoked_at, expiration_reason, is_trial, offer_type, offer_id,
        offer_discount_type, offer_period, price, currency, price_increase, renewal_price, renewal_currency,
        renewal_offer_type, renewal_offer_id, renewal_offer_discount_type, renewal_offer_period,
        win_back_offer_ids, storefront, ownership_type, billing_plan, commitment, renewal_billing_plan,
        renewal_commitment, subscribed_since, original_purchase_date, purchased_at, transaction_id,
        previous_original_transaction_id
    FROM (
        SELECT
            owner.user_id, period.*, timestamptz_from_ms(period.purchase_date_ms) AS purchased_at,
            timestamptz_from_ms(period.expires_date_ms) AS expires_at,
            timestamptz_from_ms(ended.revocation_date_ms) AS revoked_at,
            timestamptz_from_ms(grace.end_ms) AS grace_until,
            CASE
                WHEN ended.revocation_date_ms IS NOT NULL THEN 'revoked'
                WHEN ended.is_upgraded THEN 'upgraded'
                WHEN timestamptz_from_ms(period.expires_date_ms) > now() THEN 'active'
                WHEN timestamptz_from_ms(grace.end_ms) > now() THEN 'in_grace'
                WHEN renewal.is_in_billing_retry THEN 'in_billing_retry'
                ELSE 'expired'
            END AS status,
            renewal.auto_renew_status = 1 AS is_renewing, renewal.auto_renew_product_id AS renews_to,
            timestamptz_from_ms(renewal.renewal_date_ms) AS renews_at,
            CASE renewal.expiration_intent
                WHEN 1 THEN 'cancelled' WHEN 2 THEN 'billing_error' WHEN 3 THEN 'price_increase_declined'
                WHEN 4 THEN 'product_unavailable' WHEN 5 THEN 'other' ELSE renewal.expiration_intent::text
            END AS expiration_reason,
            CASE payload_number(stated.payload, 'priceIncreaseStatus')
                WHEN 0 THEN 'pending' WHEN 1 THEN 'consented'
                ELSE payload_number(stated.payload, 'priceIncreaseStatus')::text
            END AS price_increase,
            payload_number(stated.payload, 'renewalPrice') AS renewal_price,
            stated.payload ->> 'currency' AS renewal_currency,
            offer_name(payload_number(stated.payload, 'offerType')) AS renewal_offer_type,
            stated.payload ->> 'offerIdentifier' AS renewal_offer_id,
            stated.payload ->> 'offerDiscountType' AS renewal_offer_discount_type,
            stated.payload ->> 'offerPeriod' AS renewal_offer_period,
            stated.payload -> 'eligibleWinBackOfferIds' AS win_back_offer_ids,
            stated.payload ->> 'renewalBillingPlanType' AS renewal_billing_plan,
            stated.payload -> 'commitmentInfo' AS renewal_commitment,
            payload_date(stated.payload, 'recentSubscriptionStartDate') AS subscribed_since
        FROM owners AS owner
        CROSS JOIN LATERAL (
            SELECT fact.transaction_id, fact.purchase_date_ms FROM transactions AS fact
            WHERE fact.original_transaction_id = owner.original_transaction_id
                AND fact.environment = owner.environment AND fact.bundle_id = owner.bundle_id
            -- Of several in one second the last that is not revoked, as in EntitlementTerms.
            ORDER BY fact.purchase_date_ms / 1000 DESC, fact.revocation_date_ms IS NOT NULL,
                fact.transaction_id DESC
            LIMIT 1
        ) AS newest
        JOIN merged_transactions AS period
            ON period.transaction_id = newest.transaction_id AND period.environment = owner.environment
            AND period.bundle_id = owner.bundle_id
        LEFT JOIN LATERAL (
            -- A newer renewal info withdraws no grace. One may be that of a later period, which is not known.
            SELECT span.end_ms, span.start_ms / 1000 > period.expires_date_ms / 1000 AS is_later
            FROM renewal_spans AS span
            WHERE span.original_transaction_id = owner.original_transaction_id
                AND span.environment = owner.environment AND span.trust = period.trust
                AND span.kind = 'grace' AND span.end_ms > period.expires_date_ms
                AND coalesce(span.start_ms, span.end_ms) > period.purchase_date_ms
            ORDER BY span.end_ms DESC
            LIMIT 1
        ) AS grace ON true
        CROSS JOIN LATERAL (
            -- What ends a copy of the period ends it; with added seats it ends with the last payment.
            SELECT bool_or(paid.is_upgraded) AS is_upgraded,
                CASE
                    WHEN grace.is_later THEN NULL
                    WHEN bool_and(paid.additional_transaction_reason IS NULL)
                    THEN min(paid.revocation_date_ms)
                    WHEN bool_and(paid.revocation_date_ms IS NOT NULL) THEN max(paid.revocation_date_ms)
                END AS revocation_date_ms
            FROM merged_transactions AS paid
            WHERE paid.original_transaction_id = owner.original_transaction_id
                AND paid.environment = owner.environment AND paid.bundle_id = owner.bundle_id
                -- No period is longer than a year.
                AND paid.purchase_date_ms >= newest.purchase_date_ms - 34560000000
                AND paid.product_id = period.product_id
                AND paid.ownership_type IS NOT DISTINCT FROM period.ownership_type
                AND paid.expires_date_ms / 1000 IS NOT DISTINCT FROM period.expires_date_ms / 1000
                AND (paid.purchase_date_ms / 1000 = period.purchase_date_ms / 1000
                    OR paid.web_order_line_item_id = period.web_order_line_item_id
                    OR coalesce(paid.additional_transaction_reason, period.additional_transaction_reason)
                        IS NOT NULL)
        ) AS ended
        LEFT JOIN renewals AS renewal
            ON renewal.original_transaction_id = owner.original_transaction_id
            AND renewal.environment = owner.environment AND renewal.trust = period.trust
        LEFT JOIN revisions AS stated
            ON stated.id = renewal.original_transaction_id AND stated.kind = 'renewal'
            AND stated.environment = renewal.environment AND stated.bundle_id = ''
            AND stated.trust = renewal.trust AND stated.track = 'jws'
            AND stated.content_hash = renewal.content_hash
        -- A receipt names no type of a product: there a period with an end is a subscription's.
        WHERE period.product_type = 'Auto-Renewable Subscription'
            OR (period.product_type IN ('Consumable', 'Non-Consumable', 'Non-Renewing Subscription')) IS NOT TRUE
                AND period.expires_date_ms IS NOT NULL
    ) AS known;

COMMENT ON VIEW subscriptions IS
    'Each auto-renewable purchase by its newest period and Apple''s newest word about the renewal, for its '
    'present owner; user_id is null while nobody owns it. Prices are in thousandths of the currency.';

-- Names by which a misspelt one is noticed. What purchases name is read from whole tables: seconds for a
-- million of them.
CREATE VIEW known_names AS
    WITH product AS (
        SELECT listed.key COLLATE "C" AS id, listed.value AS content
        FROM (SELECT content FROM catalog_versions ORDER BY version DESC LIMIT 1) AS catalog
        CROSS JOIN json_each(catalog.content -> 'products') AS listed
    )
    SELECT 'product' AS kind, product.id AS name, 'catalog' AS known_by FROM product
    UNION ALL
    SELECT DISTINCT 'entitlement', granted.key COLLATE "C", 'catalog'
    FROM product
    CROSS JOIN json_array_elements_text(
        coalesce(product.content -> 'entitlements', json_build_array(product.id))) AS granted (key)
    WHERE product.content ->> 'type' <> 'consumable'
    UNION ALL
    SELECT DISTINCT 'currency', credit.key COLLATE "C", 'catalog'
    FROM product CROSS JOIN json_object_keys(product.content -> 'credits') AS credit (key)
    UNION ALL
    SELECT DISTINCT 'entitlement', entitlement_key, 'grant' FROM grants
    UNION ALL
    SELECT DISTINCT 'currency', currency, 'ledger' FROM ledger_debits
    UNION ALL
    SELECT DISTINCT 'entitlement', entitlement_key, 'purchase' FROM entitlements
    UNION ALL
    SELECT DISTINCT 'product', product_id, 'purchase' FROM transactions
    UNION ALL
    SELECT DISTINCT 'currency', currency, 'purchase' FROM ledger;

COMMENT ON VIEW known_names IS
    'Each product, entitlement and currency that the last catalog, a grant, the ledger or a purchase names '
    '(known_by). Reads whole tables: seconds for a million purchases.';
