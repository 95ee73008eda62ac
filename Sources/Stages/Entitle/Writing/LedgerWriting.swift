import AppStore
import Entitlements
import Postgres

/// The statements that write the credits of consumables.
enum LedgerWriting {
    static func credit(_ credits: [RowChanges.Credited]) -> PostgresStatement? {
        guard !credits.isEmpty else { return nil }
        var columns = [PostgresArray](repeating: PostgresArray(of: .text), count: 7)
        var numbers = [PostgresArray](repeating: PostgresArray(of: .int8), count: 4)
        for credited in credits {
            let credit = credited.credit
            columns[0].append(credit.transactionID)
            columns[1].append(credited.purchase.environment.rawValue)
            columns[2].append(credited.purchase.bundleID)
            columns[3].append(credit.currency)
            columns[4].append(credited.purchase.originalTransactionID)
            columns[5].append(credit.productID)
            columns[6].append(credit.userID)
            numbers[0].append(credit.amount)
            numbers[1].append(credit.takenBack)
            numbers[2].append(credit.purchaseDate.milliseconds)
            numbers[3].append(credit.revocationDate?.milliseconds)
        }
        return PostgresStatement(raise, (columns + numbers).map { .array($0) })
    }

    static func remove(_ credits: [RowChanges.Credited]) -> PostgresStatement? {
        guard !credits.isEmpty else { return nil }
        var columns = [PostgresArray](repeating: PostgresArray(of: .text), count: 6)
        for credited in credits {
            columns[0].append(credited.purchase.originalTransactionID)
            columns[1].append(credited.purchase.environment.rawValue)
            columns[2].append(credited.purchase.bundleID)
            columns[3].append(credited.credit.transactionID)
            columns[4].append(credited.credit.productID)
            columns[5].append(credited.credit.currency)
        }
        return PostgresStatement(
            """
            DELETE FROM ledger AS credit
            USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
                AS gone (
                    original_transaction_id, environment, bundle_id, transaction_id, product_id,
                    currency)
            WHERE credit.original_transaction_id = gone.original_transaction_id
              AND credit.environment = gone.environment AND credit.bundle_id = gone.bundle_id
              AND credit.transaction_id = gone.transaction_id
              AND credit.product_id = gone.product_id AND credit.currency = gone.currency
            """,
            columns.map { .array($0) }
        )
    }

    private static let raise = """
        INSERT INTO ledger (
            transaction_id, environment, bundle_id, currency, original_transaction_id, product_id,
            user_id, amount, taken_back, purchase_date_ms, revocation_date_ms)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::int8[], $9::int8[], $10::int8[], $11::int8[])
        ON CONFLICT (
            original_transaction_id, environment, bundle_id, transaction_id, product_id, currency
        ) DO UPDATE SET
            user_id = excluded.user_id,
            amount = excluded.amount,
            taken_back = excluded.taken_back,
            purchase_date_ms = excluded.purchase_date_ms,
            revocation_date_ms = excluded.revocation_date_ms
        """
}
