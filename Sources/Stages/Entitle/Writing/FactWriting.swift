import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The statements that raise facts to their newest revision.
///
/// What is written was judged under the purchases' locks, so it is newer than what is there.
enum FactWriting {
    static func transactions(_ facts: [TransactionFact]) -> PostgresStatement? {
        guard !facts.isEmpty else { return nil }
        var keys = TransactionKeyColumns()
        var terms = TransactionTermColumns()
        for fact in facts {
            keys.append(fact)
            terms.append(fact)
        }
        return PostgresStatement(
            raiseTransactions,
            (keys.columns + terms.columns).map { .array($0) }
        )
    }

    /// The transactions of `facts` that belong to another purchase already.
    ///
    /// The answer holds the places in `facts`.
    static func foreign(_ facts: [TransactionFact]) -> PostgresStatement {
        var places = PostgresArray(of: .int8)
        var ids = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var originals = PostgresArray(of: .text)
        for (place, fact) in facts.enumerated() {
            places.append(Int64(place))
            ids.append(fact.key.transactionID)
            environments.append(fact.key.environment.rawValue)
            bundleIDs.append(fact.key.bundleID)
            originals.append(fact.identity.originalTransactionID)
        }
        let columns = [places, ids, environments, bundleIDs, originals]
        return PostgresStatement(findForeign, columns.map { .array($0) })
    }

    /// Raises nothing of a transaction that belongs to another purchase: who writes compares how
    /// many rows were touched with how many there are.
    private static let raiseTransactions = """
        INSERT INTO transactions AS known (
            transaction_id, environment, bundle_id, track, signed_date_ms, content_hash, trust,
            original_transaction_id, product_id, purchase_date_ms, product_type, quantity,
            expires_date_ms, revocation_date_ms, revocation_percentage, revocation_reason,
            revocation_type, is_upgraded, is_family_shared, subscription_group_id, account_token,
            app_transaction_id, items)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bytea[], $7::text[],
            $8::text[], $9::text[], $10::int8[], $11::text[], $12::int8[], $13::int8[],
            $14::int8[], $15::int8[], $16::int8[], $17::text[], $18::bool[], $19::bool[],
            $20::text[], $21::text[], $22::text[], $23::json[])
        ON CONFLICT (transaction_id, environment, bundle_id, track) DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            trust = excluded.trust,
            product_type = excluded.product_type,
            quantity = excluded.quantity,
            expires_date_ms = excluded.expires_date_ms,
            revocation_date_ms = excluded.revocation_date_ms,
            revocation_percentage = excluded.revocation_percentage,
            revocation_reason = excluded.revocation_reason,
            revocation_type = excluded.revocation_type,
            is_upgraded = excluded.is_upgraded,
            is_family_shared = excluded.is_family_shared,
            subscription_group_id = excluded.subscription_group_id,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id,
            items = excluded.items
        WHERE known.original_transaction_id = excluded.original_transaction_id
        """

    private static let findForeign = """
        SELECT asked.place
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[])
             AS asked (place, transaction_id, environment, bundle_id, original_transaction_id)
        CROSS JOIN LATERAL (
            SELECT FROM transactions AS fact
            WHERE fact.transaction_id = asked.transaction_id
              AND fact.environment = asked.environment AND fact.bundle_id = asked.bundle_id
              AND fact.original_transaction_id <> asked.original_transaction_id
            LIMIT 1
        ) AS known
        """
}
