import AppStore
import Entitlements
import Postgres

/// The statements that read what is known of purchases; the answers' first column is the place of
/// the scope that was asked about.
///
/// Each scope is looked up by index, whatever the planner believes of the tables' sizes: a plan
/// made while they were small must not read them whole when they are not.
enum OwnershipReading {
    /// Facts, renewals, claims and owners of the scopes, in this order.
    static func statements(_ scopes: [PurchaseScope]) -> [PostgresStatement] {
        var places = PostgresArray(of: .int8)
        var environments = PostgresArray(of: .text)
        var originals = PostgresArray(of: .text)
        for (place, scope) in scopes.enumerated() {
            places.append(Int64(place))
            environments.append(scope.environment.rawValue)
            originals.append(scope.originalTransactionID)
        }
        let parameters: [PostgresValue] = [
            .array(places), .array(environments), .array(originals),
        ]
        return [readFacts, readRenewals, readClaims, readOwners].map {
            PostgresStatement($0, parameters)
        }
    }

    private static let asked = """
        FROM unnest($1::int8[], $2::text[], $3::text[])
             AS asked (place, environment, original_transaction_id)
        CROSS JOIN LATERAL
        """

    private static let readFacts = """
        SELECT asked.place, known.bundle_id, known.transaction_id, known.track,
               known.signed_date_ms, known.content_hash, known.trust, known.purchase_date_ms,
               known.product_type, known.expires_date_ms, known.revocation_date_ms,
               known.account_token, known.app_transaction_id, known.revoked_signed_date_ms,
               known.revoked_content_hash
        \(asked) (
            SELECT * FROM ownership_facts AS fact
            WHERE fact.original_transaction_id = asked.original_transaction_id
              AND fact.environment = asked.environment
            OFFSET 0
        ) AS known
        """

    private static let readRenewals = """
        SELECT asked.place, known.trust, known.signed_date_ms, known.content_hash,
               known.account_token, known.app_transaction_id
        \(asked) (
            SELECT * FROM ownership_renewals AS fact
            WHERE fact.original_transaction_id = asked.original_transaction_id
              AND fact.environment = asked.environment
            OFFSET 0
        ) AS known
        """

    private static let readClaims = """
        SELECT asked.place, known.bundle_id, known.transaction_id, known.purchase_date_ms,
               known.raw_timestamp_ms, known.raw_partition, known.raw_offset, known.user_id
        \(asked) (
            SELECT * FROM ownership_claims AS fact
            WHERE fact.original_transaction_id = asked.original_transaction_id
              AND fact.environment = asked.environment
            OFFSET 0
        ) AS known
        """

    private static let readOwners = """
        SELECT asked.place, known.bundle_id, known.user_id, known.rule, known.spans,
               known.direct_user_id, known.app_transaction_id
        \(asked) (
            SELECT * FROM owners AS owner
            WHERE owner.original_transaction_id = asked.original_transaction_id
              AND owner.environment = asked.environment
            OFFSET 0
        ) AS known
        """
}
