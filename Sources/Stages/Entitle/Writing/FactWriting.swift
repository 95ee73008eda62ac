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

    /// The transactions of `facts` that contradict what the table holds under their IDs.
    ///
    /// The answer holds the places in `facts`, each with the field.
    static func contradicting(_ facts: [TransactionFact]) -> PostgresStatement {
        var places = PostgresArray(of: .int8)
        var keys = TransactionKeyColumns()
        for (place, fact) in facts.enumerated() {
            places.append(Int64(place))
            keys.append(fact)
        }
        return PostgresStatement(
            findContradicting,
            ([places] + keys.identity).map { .array($0) }
        )
    }

    /// Raises nothing of a transaction that contradicts what is known of its ID: who writes
    /// compares how many rows were touched with how many there are.
    ///
    /// What the table knows of the purchases at hand was compared before; this sees an ID that
    /// belongs to another purchase, or whose transaction is sealed.
    private static let raiseTransactions = """
        INSERT INTO transactions AS known (
            transaction_id, environment, bundle_id, track, signed_date_ms, content_hash, trust,
            original_transaction_id, product_id, purchase_date_ms, product_type, quantity,
            expires_date_ms, revocation_date_ms, revocation_percentage, revocation_reason,
            revocation_type, revoked_signed_date_ms, revoked_content_hash, is_upgraded,
            is_family_shared, subscription_group_id, account_token, app_transaction_id, items)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bytea[], $7::text[],
            $8::text[], $9::text[], $10::int8[], $11::text[], $12::int8[], $13::int8[],
            $14::int8[], $15::int8[], $16::int8[], $17::text[], $18::int8[], $19::bytea[],
            $20::bool[], $21::bool[], $22::text[], $23::text[], $24::text[], $25::json[])
            AS new (transaction_id, environment, bundle_id, track, signed_date_ms, content_hash,
                trust, original_transaction_id)
        WHERE (
            -- Another track of the ID may stand in another purchase, which was not read.
            SELECT other.original_transaction_id FROM transactions AS other
            WHERE other.transaction_id = new.transaction_id
              AND other.environment = new.environment AND other.bundle_id = new.bundle_id
              AND other.track <> new.track
              AND other.original_transaction_id <> new.original_transaction_id
        ) IS NULL
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
            revoked_signed_date_ms = excluded.revoked_signed_date_ms,
            revoked_content_hash = excluded.revoked_content_hash,
            is_upgraded = excluded.is_upgraded,
            is_family_shared = excluded.is_family_shared,
            subscription_group_id = excluded.subscription_group_id,
            account_token = excluded.account_token,
            app_transaction_id = excluded.app_transaction_id,
            items = excluded.items
        WHERE known.original_transaction_id = excluded.original_transaction_id
          AND known.product_id = excluded.product_id
          AND known.purchase_date_ms = excluded.purchase_date_ms
          AND coalesce(known.product_type = excluded.product_type, true)
          AND coalesce(known.quantity = excluded.quantity, true)
        """

    private static let findContradicting = """
        SELECT asked.place,
               CASE
                   WHEN known.original_transaction_id <> asked.original_transaction_id
                       THEN 'originalTransactionID'
                   WHEN known.product_id <> asked.product_id THEN 'productID'
                   WHEN known.purchase_date_ms <> asked.purchase_date_ms THEN 'purchaseDate'
                   WHEN known.product_type <> asked.product_type THEN 'type'
                   ELSE 'quantity'
               END
        FROM unnest(
            $1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::int8[], $9::text[], $10::int8[])
            AS asked (place, transaction_id, environment, bundle_id, track,
                original_transaction_id, product_id, purchase_date_ms, product_type, quantity)
        JOIN transactions AS known
            ON known.transaction_id = asked.transaction_id
            AND known.environment = asked.environment AND known.bundle_id = asked.bundle_id
            AND (
                known.track = asked.track
                OR known.original_transaction_id <> asked.original_transaction_id
            )
        WHERE known.original_transaction_id <> asked.original_transaction_id
           OR known.product_id <> asked.product_id
           OR known.purchase_date_ms <> asked.purchase_date_ms
           OR known.product_type <> asked.product_type
           OR known.quantity <> asked.quantity
        """
}
