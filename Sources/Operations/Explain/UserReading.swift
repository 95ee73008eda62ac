import AppStore
import EntitleStage
import Entitlements
import Postgres

extension UserExplanation {
    /// Reads it all; a moment later some of it may be different.
    static func read(
        _ userID: String,
        _ environment: String,
        _ client: PostgresClient
    ) async throws -> UserExplanation {
        var user = UserExplanation(userID, environment)
        let about: [PostgresValue] = [.text(userID), .text(environment)]
        let answers = try await client.withConnection { connection in
            try await connection.pipeline(
                UserReading.statements.map { PostgresStatement($0, about) }
            )
        }
        user.take(answers)
        let contributions = try await Reprojector(client: client)
            .contributions(of: user.purchases.map(\.key))
        for index in user.purchases.indices {
            user.purchases[index].take(contributions[user.purchases[index].key] ?? [], of: userID)
        }
        return user
    }

    private mutating func take(_ answers: [PostgresRows]) {
        precondition(answers.count == UserReading.statements.count, "one answer a question")
        version = answers[0][0].optionalInt8(0)
        catalogVersion = answers[0][0].optionalInt8(1)
        let environment = Environment(rawValue: environment)
        func key(_ row: PostgresRow) -> PurchaseKey {
            PurchaseKey(
                environment: environment,
                bundleID: row.text(0),
                originalTransactionID: row.text(1)
            )
        }
        var found: [PurchaseKey: ExplainedPurchase] = [:]
        for row in answers[1] {
            var purchase = ExplainedPurchase(key: key(row))
            purchase.ownerID = row.optionalText(2)
            purchase.ownerRule = row.optionalText(3) ?? "unlinked"
            purchase.ownerSpans = row.optionalBytes(4)
            found[purchase.key] = purchase
        }
        for row in answers[2] {
            found[key(row)]?.held.append(.init(key: row.text(2), periods: row.periods(3)))
        }
        for row in answers[3] {
            found[key(row)]?.add(transaction: row)
        }
        for row in answers[4] {
            found[key(row)]?.renewals.append(ExplainedPurchase.Renewal(row))
        }
        purchases = found.values.sorted { $0.key < $1.key }
        grants = answers[5].map { ExplainedGrant($0) }
        balances = answers[6].map { ($0.text(0), $0.int8(1)) }
        changes = answers[7].map { ExplainedChange($0) }
    }
}

extension ExplainedPurchase {
    /// A transaction comes with a row for each content that was ever signed of it.
    fileprivate mutating func add(transaction row: PostgresRow) {
        let transaction = ExplainedTransaction(row)
        let place = transactions.firstIndex {
            $0.id == transaction.id && $0.track == transaction.track
        }
        if place == nil {
            transactions.append(transaction)
        }
        guard !row.isNull(13) else { return }
        transactions[place ?? transactions.count - 1].sources
            .append(ExplainedSource(row, from: 13))
    }

    fileprivate mutating func take(_ contributions: [Contribution], of userID: String) {
        let own = contributions.filter { $0.userID == nil || $0.userID == userID }
        let byID = Dictionary(grouping: own, by: \.transactionID)
        for index in transactions.indices {
            transactions[index].contributions = byID[transactions[index].id] ?? []
        }
    }
}

extension ExplainedPurchase.Renewal {
    fileprivate init(_ row: PostgresRow) {
        autoRenewProductID = row.optionalText(2)
        autoRenewStatus = row.optionalInt8(3)
        isInBillingRetry = row.optionalBool(4)
        graceUntil = row.optionalInt8(5)
        source = row.isNull(6) ? nil : ExplainedSource(row, from: 6)
    }
}

/// The questions about a user ($1) in an environment ($2).
private enum UserReading {
    /// Every purchase that grants or has granted the user something, or credited their ledger.
    private static let purchases = """
        (
            SELECT bundle_id, original_transaction_id FROM entitlements
            WHERE user_id = $1 AND environment = $2
            UNION
            SELECT bundle_id, original_transaction_id FROM changes
            WHERE user_id = $1 AND environment = $2 AND grant_id IS NULL
            UNION
            SELECT bundle_id, original_transaction_id FROM ledger
            WHERE user_id = $1 AND environment = $2
        ) AS theirs
        """

    static let statements = [
        """
        SELECT (SELECT version FROM user_versions WHERE user_id = $1 AND $2::text <> ''),
               (SELECT max(version)::int8 FROM catalog_versions)
        """,
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, owner.user_id, owner.rule,
               owner.spans
        FROM \(purchases)
        LEFT JOIN owners AS owner
            ON owner.original_transaction_id = theirs.original_transaction_id
            AND owner.environment = $2 AND owner.bundle_id = theirs.bundle_id
        """,
        """
        SELECT bundle_id, original_transaction_id, entitlement_key, periods FROM entitlements
        WHERE user_id = $1 AND environment = $2 ORDER BY entitlement_key
        """,
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, NULL, fact.transaction_id,
               fact.product_id, fact.product_type, fact.purchase_date_ms, fact.expires_date_ms,
               fact.revocation_date_ms, fact.is_upgraded, fact.is_family_shared,
               fact.account_token IS NOT NULL, fact.track, \(ExplainedSource.columns)
        FROM \(purchases)
        JOIN transactions AS fact
            ON fact.original_transaction_id = theirs.original_transaction_id
            AND fact.environment = $2 AND fact.bundle_id = theirs.bundle_id
        \(ExplainedSource.join("""
            LEFT JOIN revisions AS known
                ON known.id = fact.transaction_id AND known.kind = 'transaction'
                AND known.environment = fact.environment AND known.bundle_id = fact.bundle_id
                AND known.track = fact.track
            """))
        ORDER BY fact.purchase_date_ms, fact.transaction_id, known.signed_date_ms
        """,
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, fact.auto_renew_product_id,
               fact.auto_renew_status::int8, fact.is_in_billing_retry,
               fact.grace_period_expires_date_ms, \(ExplainedSource.columns)
        FROM \(purchases)
        JOIN renewals AS fact
            ON fact.original_transaction_id = theirs.original_transaction_id
            AND fact.environment = $2
        \(ExplainedSource.join("""
            LEFT JOIN revisions AS known
                ON known.id = fact.original_transaction_id AND known.kind = 'renewal'
                AND known.environment = fact.environment AND known.trust = fact.trust
                AND known.content_hash = fact.content_hash
            """))
        """,
        """
        SELECT \(ExplainedGrant.columns) FROM grants
        WHERE user_id = $1 AND environment = $2 ORDER BY grant_id
        """,
        """
        SELECT currency, ledger_balance($1, currency, $2) FROM (
            SELECT currency FROM ledger WHERE user_id = $1 AND environment = $2
            UNION
            SELECT currency FROM ledger_debits WHERE user_id = $1 AND environment = $2
        ) AS held ORDER BY currency
        """,
        """
        SELECT \(ExplainedChange.columns) FROM changes
        WHERE user_id = $1 AND environment = $2 ORDER BY version
        """,
    ]
}
