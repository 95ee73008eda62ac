import AppStore
import Entitlements
import OpenSSL
import Postgres

extension FactWriting {
    static func renewals(_ facts: [RenewalFact]) -> PostgresStatement? {
        guard !facts.isEmpty else { return nil }
        var columns = [PostgresArray](repeating: PostgresArray(of: .text), count: 7)
        var dates = [PostgresArray](repeating: PostgresArray(of: .int8), count: 5)
        var hashes = PostgresArray(of: .bytea)
        var retries = PostgresArray(of: .bool)
        for fact in facts {
            columns[0].append(fact.key.originalTransactionID)
            columns[1].append(fact.key.environment.rawValue)
            columns[2].append(fact.key.trust.text)
            columns[3].append(fact.productID)
            columns[4].append(fact.autoRenewProductID)
            columns[5].append(fact.appAccountToken?.canonical)
            columns[6].append(fact.appTransactionID)
            dates[0].append(fact.revision.signedDate.milliseconds)
            dates[1].append(fact.renewalDate?.milliseconds)
            dates[2].append(fact.gracePeriodExpiresDate?.milliseconds)
            dates[3].append(fact.autoRenewStatus.map(Int64.init))
            dates[4].append(fact.expirationIntent.map(Int64.init))
            hashes.append(fact.revision.contentHash.bytes)
            retries.append(fact.isInBillingRetry)
        }
        return PostgresStatement(
            raiseRenewals,
            (columns + dates + [hashes, retries]).map { .array($0) }
        )
    }

    static func graces(_ graces: [(key: RenewalKey, grace: GracePeriod)]) -> PostgresStatement? {
        guard !graces.isEmpty else { return nil }
        var originals = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var trusts = PostgresArray(of: .text)
        var expiresDates = PostgresArray(of: .int8)
        var renewalDates = PostgresArray(of: .int8)
        for (key, grace) in graces {
            originals.append(key.originalTransactionID)
            environments.append(key.environment.rawValue)
            trusts.append(key.trust.text)
            expiresDates.append(grace.expiresDate.milliseconds)
            renewalDates.append(grace.renewalDate?.milliseconds)
        }
        let columns = [originals, environments, trusts, expiresDates, renewalDates]
        return PostgresStatement(addGraces, columns.map { .array($0) })
    }

    private static let raiseRenewals = """
        INSERT INTO renewals (
            original_transaction_id, environment, trust, product_id, auto_renew_product_id,
            account_token, app_transaction_id, signed_date_ms, renewal_date_ms,
            grace_period_expires_date_ms, auto_renew_status, expiration_intent, content_hash,
            is_in_billing_retry)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::bytea[],
            $14::bool[])
        ON CONFLICT (original_transaction_id, environment, trust) DO UPDATE SET
            product_id = excluded.product_id,
            auto_renew_product_id = excluded.auto_renew_product_id,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id,
            signed_date_ms = excluded.signed_date_ms,
            renewal_date_ms = excluded.renewal_date_ms,
            grace_period_expires_date_ms = excluded.grace_period_expires_date_ms,
            auto_renew_status = excluded.auto_renew_status,
            expiration_intent = excluded.expiration_intent,
            content_hash = excluded.content_hash,
            is_in_billing_retry = excluded.is_in_billing_retry
        """

    private static let addGraces = """
        INSERT INTO grace_periods (
            original_transaction_id, environment, trust, expires_date_ms, renewal_date_ms)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::int8[])
        ON CONFLICT DO NOTHING
        """
}
