import AppStore
import Entitlements
import Postgres

/// The questions about some purchases, in one environment ($2), and what the answers tell.
struct PurchaseReading {
    /// A relation `theirs` with the columns `bundle_id` and `original_transaction_id`.
    let theirs: String
    /// A condition on the user of a row, `AND held.user_id = $1`; empty for all users.
    let ofUser: String

    var statements: [String] {
        [owners, held, transactions, renewals, credits]
    }

    /// - Parameter answers: to `statements`, in their order.
    func purchases(
        _ answers: ArraySlice<PostgresRows>,
        in environment: Environment
    ) -> [ExplainedPurchase] {
        let answers = Array(answers)
        precondition(answers.count == statements.count, "one answer a question")
        func key(_ row: PostgresRow) -> PurchaseKey {
            PurchaseKey(
                environment: environment,
                bundleID: row.text(0),
                originalTransactionID: row.text(1)
            )
        }
        var found: [PurchaseKey: ExplainedPurchase] = [:]
        for row in answers[0] {
            var purchase = ExplainedPurchase(key: key(row))
            purchase.ownerID = row.optionalText(2)
            purchase.ownerRule = row.optionalText(3) ?? "unlinked"
            purchase.ownerSpans = row.optionalBytes(4)
            purchase.appTransactionID = row.optionalText(5)
            found[purchase.key] = purchase
        }
        for row in answers[1] {
            found[key(row)]?.held.append(
                .init(userID: row.text(2), key: row.text(3), periods: row.periods(4))
            )
        }
        for row in answers[2] {
            found[key(row)]?.add(transaction: row)
        }
        for row in answers[3] {
            found[key(row)]?.renewals.append(ExplainedPurchase.Renewal(row))
        }
        for row in answers[4] {
            found[key(row)]?.add(ExplainedCredit(row))
        }
        return found.values.sorted { $0.key < $1.key }
    }

    private var owners: String {
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, owner.user_id, owner.rule,
               owner.spans, owner.app_transaction_id
        FROM \(theirs)
        LEFT JOIN owners AS owner
            ON owner.original_transaction_id = theirs.original_transaction_id
            AND owner.environment = $2 AND owner.bundle_id = theirs.bundle_id
        """
    }

    private var held: String {
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, held.user_id, held.entitlement_key,
               held.periods
        FROM \(theirs)
        JOIN entitlements AS held
            ON held.original_transaction_id = theirs.original_transaction_id
            AND held.environment = $2 AND held.bundle_id = theirs.bundle_id \(ofUser)
        ORDER BY held.entitlement_key, held.user_id
        """
    }

    private var transactions: String {
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, fact.transaction_id,
               fact.product_id, fact.product_type, fact.purchase_date_ms, fact.expires_date_ms,
               fact.revocation_date_ms, fact.is_upgraded, fact.is_family_shared,
               fact.account_token IS NOT NULL, fact.track, \(ExplainedSource.columns)
        FROM \(theirs)
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
        """
    }

    private var renewals: String {
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, fact.auto_renew_product_id,
               fact.auto_renew_status::int8, fact.is_in_billing_retry,
               fact.grace_period_expires_date_ms, \(ExplainedSource.columns)
        FROM \(theirs)
        JOIN renewals AS fact
            ON fact.original_transaction_id = theirs.original_transaction_id
            AND fact.environment = $2
        \(ExplainedSource.join("""
            LEFT JOIN revisions AS known
                ON known.id = fact.original_transaction_id AND known.kind = 'renewal'
                AND known.environment = fact.environment AND known.trust = fact.trust
                AND known.content_hash = fact.content_hash
            """))
        """
    }

    private var credits: String {
        """
        SELECT theirs.bundle_id, theirs.original_transaction_id, held.transaction_id,
               held.product_id, held.currency, held.user_id, held.amount, held.taken_back,
               held.revocation_date_ms
        FROM \(theirs)
        JOIN ledger AS held
            ON held.original_transaction_id = theirs.original_transaction_id
            AND held.environment = $2 AND held.bundle_id = theirs.bundle_id \(ofUser)
        ORDER BY held.transaction_id, held.product_id, held.currency
        """
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
        guard !row.isNull(12) else { return }
        transactions[place ?? transactions.count - 1].sources
            .append(ExplainedSource(row, from: 12))
    }

    /// Where a transaction came by two tracks, to the first of them.
    fileprivate mutating func add(_ credit: ExplainedCredit) {
        if let place = transactions.firstIndex(where: { $0.id == credit.transactionID }) {
            transactions[place].credits.append(credit)
        }
    }

    /// - Parameter userID: whose; nil for all users'.
    mutating func take(_ contributions: [Contribution], of userID: String?) {
        let own = contributions.filter { contribution in
            contribution.userID == nil || userID == nil || contribution.userID == userID
        }
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
