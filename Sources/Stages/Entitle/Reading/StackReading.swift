import AppStore
import Entitlements
import Postgres

/// Reads all that users have bought of non-renewing products, under their locks.
struct StackReading {
    /// A user in one app and environment.
    struct Holder: Hashable {
        let environment: Environment
        let bundleID: String
        let userID: String

        init(_ key: StackKey) {
            environment = key.environment
            bundleID = key.bundleID
            userID = key.userID
        }
    }

    private let holders: [Holder]

    init(_ holders: Set<Holder>) {
        self.holders = Array(holders)
    }

    var statement: PostgresStatement {
        var places = PostgresArray(of: .int8)
        var users = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        for (place, holder) in holders.enumerated() {
            places.append(Int64(place))
            users.append(holder.userID)
            environments.append(holder.environment.rawValue)
            bundleIDs.append(holder.bundleID)
        }
        return PostgresStatement(
            """
            SELECT asked.place, known.*
            FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[])
                 AS asked (place, user_id, environment, bundle_id)
            CROSS JOIN LATERAL (
                SELECT product_id, transaction_id, original_transaction_id, purchase_date_ms,
                       quantity
                FROM stacked_purchases AS stacked
                WHERE stacked.user_id = asked.user_id
                  AND stacked.environment = asked.environment
                  AND stacked.bundle_id = asked.bundle_id
                OFFSET 0
            ) AS known
            """,
            [places, users, environments, bundleIDs].map { .array($0) }
        )
    }

    func purchases(_ rows: PostgresRows) -> [StackedPurchase] {
        rows.map { row in
            let holder = holders[Int(row.int8(0))]
            return StackedPurchase(
                key: StackKey(
                    environment: holder.environment,
                    bundleID: holder.bundleID,
                    userID: holder.userID,
                    productID: row.text(1)
                ),
                transactionID: row.text(2),
                originalTransactionID: row.text(3),
                purchaseDate: Timestamp(milliseconds: row.int8(4)),
                quantity: row.optionalInt32(5) ?? 1
            )
        }
    }
}
