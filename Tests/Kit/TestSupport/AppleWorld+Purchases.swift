package import Simulation

extension AppleWorld {
    /// Signs a purchase in the demo's first app; the same ID is its original transaction's.
    package func sell(_ id: String, ownership: String = "PURCHASED", type: String? = nil, items: String? = nil) throws {
        var fields = TransactionFields()
        fields.advancedCommerceInfo = items.map { Array(#"{"items":\#($0)}"#.utf8) }
        if let type { fields.type = type }
        fields.transactionID = id
        fields.originalTransactionID = id
        fields.bundleID = DemoApp.pro.bundleID
        fields.inAppOwnershipType = ownership
        add(try authority.sign(fields.json))
    }

    /// A statement that stores a purchase and its owner, as `link-worker` and `entitle-worker` do.
    ///
    /// - Parameters:
    ///   - owner: an SQL expression.
    ///   - purchased: in milliseconds since 1970; without it, far in the future.
    package static func storing(
        _ id: String, owner: String = "'anna'", purchased: Int64 = 4_000_000_000_000, app: String = DemoApp.pro.bundleID
    ) -> String {
        """
        WITH owner AS (
            INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
            VALUES ('Production', '\(app)', '\(id)', \(owner), 'link')
        )
        INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms,
            content_hash, trust, original_transaction_id, product_id, purchase_date_ms)
        VALUES ('Production', '\(app)', '\(id)', 'jws', 1, sha256(''), 'apple', '\(id)', 'p',
            \(purchased))
        """
    }
}
