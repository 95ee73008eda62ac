package import Entitlements
package import Postgres

/// The row of `linking_rules`: by which rules the workers judge.
package enum LinkingRules {
    /// Says by which rules the caller judges from now on; writes nothing where it is said already.
    static func record(_ rules: OwnershipRules) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO linking_rules AS known (policy, tokens_are_user_ids, trusts_ingestion)
            VALUES ($1, $2, $3)
            ON CONFLICT (is_only) DO UPDATE SET
                policy = excluded.policy,
                tokens_are_user_ids = excluded.tokens_are_user_ids,
                trusts_ingestion = excluded.trusts_ingestion,
                since = now()
            WHERE (known.policy, known.tokens_are_user_ids, known.trusts_ingestion)
                <> (excluded.policy, excluded.tokens_are_user_ids, excluded.trusts_ingestion)
            """,
            [
                .text(rules.policy.rawValue), .bool(rules.tokensAreUserIDs),
                .bool(rules.trustsIngestion),
            ]
        )
    }

    /// Nil where no worker has said it, or one of a later version did.
    package static func read(_ client: PostgresClient) async throws -> OwnershipRules? {
        let rows = try await client.query(
            "SELECT policy, tokens_are_user_ids, trusts_ingestion FROM linking_rules"
        )
        guard let row = rows.first, let policy = OwnershipPolicy(rawValue: row.text(0)) else {
            return nil
        }
        return OwnershipRules(
            policy: policy,
            tokensAreUserIDs: row.bool(1),
            trustsIngestion: row.bool(2)
        )
    }
}
