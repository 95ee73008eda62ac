import AppStore
import Entitlements
import JSON
import OpenSSL
import Postgres

/// The statements that read what the tables hold of purchases, and what their answers say.
///
/// The answers' first column is the place of the scope that was asked about. Each scope is looked
/// up by index, whatever the planner believes of the tables' sizes: a plan made while they were
/// small must not read them whole when they are not.
struct FactReading {
    private let scopes: [PurchaseScope]

    init(_ scopes: [PurchaseScope]) {
        self.scopes = scopes
    }

    var statements: [PostgresStatement] {
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
        return Self.questions.map { PostgresStatement($0, parameters) }
    }

    /// Puts the answers in place.
    func learn(_ answers: ArraySlice<PostgresRows>, into fold: inout BatchFold) {
        precondition(answers.count == Self.questions.count, "one answer for each question")
        let readers = [
            readSealed, readTransaction, readRenewal, readGrace, readOwner, readEntitlement,
            readCredit,
            readStacked,
        ]
        for (rows, read) in zip(answers, readers) {
            for row in rows {
                let place = Int(row.int8(0))
                fold.withState(at: place) { read(row, &$0) }
            }
        }
    }

    private static let questions = [
        question("sealed_periods", "product_id, bundle_id, trust, sealed_before_ms, periods"),
        question(
            "transactions",
            where: """
                AND fact.purchase_date_ms >= coalesce(
                    (
                        SELECT max(sealed_before_ms) FROM sealed_periods AS sealed
                        WHERE sealed.original_transaction_id = asked.original_transaction_id
                          AND sealed.environment = asked.environment
                    ),
                    -9223372036854775808)
                """,
            """
            bundle_id, transaction_id, track, signed_date_ms, content_hash, trust, product_id,
            purchase_date_ms, product_type, quantity, expires_date_ms, revocation_date_ms,
            revocation_percentage, revocation_reason, revocation_type, is_upgraded, items,
            revoked_signed_date_ms, revoked_content_hash
            """
        ),
        question("renewals", "trust, signed_date_ms, content_hash"),
        question("grace_periods", "trust, expires_date_ms, renewal_date_ms"),
        // One statement, so that the change is that of the owner beside it.
        question(
            "owners",
            """
            bundle_id, user_id, rule, spans,
            (
                SELECT change.change_id FROM owner_changes AS change
                WHERE change.original_transaction_id = fact.original_transaction_id
                  AND change.environment = fact.environment AND change.bundle_id = fact.bundle_id
            )
            """
        ),
        question("entitlements", "bundle_id, entitlement_key, user_id, periods"),
        question(
            "ledger",
            """
            bundle_id, transaction_id, currency, product_id, user_id, amount, taken_back,
            purchase_date_ms, revocation_date_ms
            """
        ),
        question(
            "stacked_purchases",
            "bundle_id, user_id, product_id, transaction_id, purchase_date_ms, quantity"
        ),
    ]

    private static func question(
        _ table: String,
        where condition: String = "",
        _ columns: String
    ) -> String {
        """
        SELECT asked.place, known.*
        FROM unnest($1::int8[], $2::text[], $3::text[])
             AS asked (place, environment, original_transaction_id)
        CROSS JOIN LATERAL (
            SELECT \(columns) FROM \(table) AS fact
            WHERE fact.original_transaction_id = asked.original_transaction_id
              AND fact.environment = asked.environment \(condition)
            OFFSET 0
        ) AS known
        """
    }
}

extension FactReading {
    private func readTransaction(_ row: PostgresRow, _ state: inout ScopeState) {
        let bundleID = row.text(1)
        let revision = row.revision(4)
        let fact = TransactionFact(
            key: TransactionKey(
                environment: state.scope.environment,
                bundleID: bundleID,
                transactionID: row.text(2)
            ),
            track: row.text(3) == Track.receipt.rawValue ? .receipt : .jws,
            revision: revision,
            trust: row.trust(6),
            identity: TransactionIdentity(
                originalTransactionID: state.scope.originalTransactionID,
                productID: row.text(7),
                purchaseDate: Timestamp(milliseconds: row.int8(8)),
                type: row.optionalText(9).map { ProductType(rawValue: $0) },
                quantity: row.optionalInt32(10)
            ),
            expiresDate: row.optionalDate(11),
            revocation: row.optionalDate(12).map { date in
                Revocation(
                    date: date,
                    percentage: row.optionalInt32(13),
                    reason: row.optionalInt32(14),
                    type: row.optionalText(15)
                )
            },
            olderRevoking: row.optionalRevision(18, otherThan: revision),
            isUpgraded: row.optionalBool(16),
            items: CommerceItem.items(stored: row.optionalBytes(17))
        )
        state[bundleID].learn(fact)
    }

    private func readSealed(_ row: PostgresRow, _ state: inout ScopeState) {
        state.learn(
            sealed: PeriodSet(row.periods(5).map { Period($0) }),
            of: row.text(1),
            before: Timestamp(milliseconds: row.int8(4)),
            bundleID: row.text(2),
            trust: row.trust(3)
        )
    }

    private func readRenewal(_ row: PostgresRow, _ state: inout ScopeState) {
        state.learn(
            RenewalFact(key: state.renewalKey(row.trust(1)), revision: row.revision(2))
        )
    }

    private func readGrace(_ row: PostgresRow, _ state: inout ScopeState) {
        let grace = GracePeriod(
            expiresDate: Timestamp(milliseconds: row.int8(2)),
            renewalDate: row.optionalDate(3)
        )
        state.learn(grace, of: state.renewalKey(row.trust(1)))
    }

    private func readOwner(_ row: PostgresRow, _ state: inout ScopeState) {
        let rule = OwnershipRule(rawValue: row.text(3)) ?? .unlinked
        let spans = OwnershipSpan.spans(stored: row.optionalBytes(4))
        let present = row.optionalText(2).map { [OwnershipSpan(userID: $0)] } ?? []
        state[row.text(1)].ownership = Ownership(spans: spans ?? present, rule: rule)
        state[row.text(1)].ownerChange = row.optionalInt8(5)
    }

    private func readEntitlement(_ row: PostgresRow, _ state: inout ScopeState) {
        state[row.text(1)].rows.append(
            EntitlementRow(
                key: row.text(2),
                userID: row.text(3),
                periods: PeriodSet(row.periods(4).map { Period($0) })
            )
        )
    }

    private func readCredit(_ row: PostgresRow, _ state: inout ScopeState) {
        state[row.text(1)].credits.append(
            LedgerCredit(
                transactionID: row.text(2),
                productID: row.text(4),
                currency: row.text(3),
                userID: row.text(5),
                amount: row.int8(6),
                takenBack: row.int8(7),
                purchaseDate: Timestamp(milliseconds: row.int8(8)),
                revocationDate: row.optionalDate(9)
            )
        )
    }

    private func readStacked(_ row: PostgresRow, _ state: inout ScopeState) {
        let bundleID = row.text(1)
        state[bundleID].stacked.append(
            StackedPurchase(
                key: StackKey(
                    environment: state.scope.environment,
                    bundleID: bundleID,
                    userID: row.text(2),
                    productID: row.text(3)
                ),
                transactionID: row.text(4),
                originalTransactionID: state.scope.originalTransactionID,
                purchaseDate: Timestamp(milliseconds: row.int8(5)),
                quantity: row.optionalInt32(6) ?? 1
            )
        )
    }
}

extension ScopeState {
    fileprivate func renewalKey(_ trust: Trust) -> RenewalKey {
        RenewalKey(
            environment: scope.environment,
            originalTransactionID: scope.originalTransactionID,
            trust: trust
        )
    }
}
