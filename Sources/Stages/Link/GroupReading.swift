import AppStore
import Entitlements
import Postgres

/// The statements about the purchases that share an `appTransactionId`.
enum GroupReading {
    /// Asks who owns the groups' purchases by rules 1 and 2.
    ///
    /// The first and the last by name are the same where there is one, so a group of a thousand
    /// purchases costs two look-ups.
    static func owners(of groups: [AppTransactionGroup]) -> PostgresStatement {
        PostgresStatement(readOwners, columns(groups))
    }

    private static let readOwners = """
        SELECT asked.place, first.direct_user_id, last.direct_user_id
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[])
             AS asked (place, environment, bundle_id, app_transaction_id)
        CROSS JOIN LATERAL (
            SELECT owner.direct_user_id FROM owners AS owner
            WHERE owner.app_transaction_id = asked.app_transaction_id
              AND owner.environment = asked.environment AND owner.bundle_id = asked.bundle_id
              AND owner.direct_user_id IS NOT NULL
            ORDER BY owner.direct_user_id LIMIT 1
        ) AS first
        CROSS JOIN LATERAL (
            SELECT owner.direct_user_id FROM owners AS owner
            WHERE owner.app_transaction_id = asked.app_transaction_id
              AND owner.environment = asked.environment AND owner.bundle_id = asked.bundle_id
              AND owner.direct_user_id IS NOT NULL
            ORDER BY owner.direct_user_id DESC LIMIT 1
        ) AS last
        """

    static func owners(
        _ rows: PostgresRows,
        of groups: [AppTransactionGroup]
    ) -> [AppTransactionGroup: SiblingOwner] {
        var owners: [AppTransactionGroup: SiblingOwner] = [:]
        for row in rows {
            owners[groups[Int(row.int8(0))]] = SiblingOwner(owners: [row.text(1), row.text(2)])
        }
        return owners
    }

    /// The purchases of groups that rules 1 and 2 give to nobody, so that the others decide.
    static func dependants(of groups: [AppTransactionGroup]) -> PostgresStatement {
        PostgresStatement(readDependants, columns(groups))
    }

    private static let readDependants = """
        SELECT asked.place, known.original_transaction_id
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[])
             AS asked (place, environment, bundle_id, app_transaction_id)
        CROSS JOIN LATERAL (
            SELECT owner.original_transaction_id FROM owners AS owner
            WHERE owner.app_transaction_id = asked.app_transaction_id
              AND owner.environment = asked.environment AND owner.bundle_id = asked.bundle_id
              AND owner.direct_user_id IS NULL
            OFFSET 0
        ) AS known
        """

    static func dependants(
        _ rows: PostgresRows,
        of groups: [AppTransactionGroup]
    ) -> [PurchaseKey] {
        rows.map { row in
            let group = groups[Int(row.int8(0))]
            return PurchaseKey(
                environment: group.environment,
                bundleID: group.bundleID,
                originalTransactionID: row.text(1)
            )
        }
    }

    private static func columns(_ groups: [AppTransactionGroup]) -> [PostgresValue] {
        var places = PostgresArray(of: .int8)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var ids = PostgresArray(of: .text)
        for (place, group) in groups.enumerated() {
            places.append(Int64(place))
            environments.append(group.environment.rawValue)
            bundleIDs.append(group.bundleID)
            ids.append(group.appTransactionID)
        }
        return [places, environments, bundleIDs, ids].map { .array($0) }
    }
}
