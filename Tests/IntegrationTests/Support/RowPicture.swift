import AppStore
import Entitlements
import OpenSSL
import Postgres
import TestSupport

/// The rows that are a fold of the facts, as text: the stored or the expected ones.
struct RowPicture: Equatable, Sendable {
    /// The fields of every row, by table.
    private(set) var tables: [String: Set<String>] = [:]

    mutating func add(_ table: String, _ fields: [String?]) {
        let row = fields.map { $0 ?? "∅" }.joined(separator: " | ")
        tables[table, default: []].insert(row)
    }

    func count(_ table: String) -> Int { tables[table]?.count ?? 0 }

    /// The differences from the expected rows: some lines of each table.
    func differences(from expected: RowPicture) -> [String] {
        let names = Set(tables.keys).union(expected.tables.keys).sorted()
        return names.flatMap { name in
            let (found, wanted) = (tables[name] ?? [], expected.tables[name] ?? [])
            let missing = wanted.subtracting(found).sorted()
            let surplus = found.subtracting(wanted).sorted()
            return missing.prefix(Self.shownMax).map { "\(name): missing \($0)" }
                + surplus.prefix(Self.shownMax).map { "\(name): not expected \($0)" }
                + (max(missing.count, surplus.count) > Self.shownMax
                    ? ["\(name): \(missing.count) missing, \(surplus.count) not expected"] : [])
        }
    }

    private static let shownMax = 4
}

/// The columns have the order of `RowPicture.init(_:_:)` of a fold.
extension RowPicture {
    /// Reads the tables.
    init(_ connection: PostgresConnection) async throws {
        for (table, columns) in Self.queries {
            let rows = try await connection.query("SELECT \(columns) FROM \(table)")
            for row in rows { add(table, (0..<rows.columnCount).map { row.optionalText($0) }) }
        }
    }

    private static let purchase = "environment, bundle_id, original_transaction_id"

    private static let queries = [
        "transactions": """
        environment, bundle_id, transaction_id, track, signed_date_ms::text,
        encode(content_hash, 'hex'), trust, original_transaction_id, product_id,
        purchase_date_ms::text, product_type, quantity::text, expires_date_ms::text,
        revocation_date_ms::text, revoked_signed_date_ms::text, is_upgraded::text,
        ownership_type, web_order_line_item_id, transaction_reason, additional_transaction_reason,
        revoked_seat_quantity::text, subscription_group_id, account_token, app_transaction_id,
        token_signed_date_ms::text, app_transaction_signed_date_ms::text
        """,
        "renewals": """
        environment, original_transaction_id, trust, signed_date_ms::text,
        encode(content_hash, 'hex'), product_id, auto_renew_product_id, auto_renew_status::text,
        is_in_billing_retry::text, price_increase_status::text, expiration_intent::text, renewal_date_ms::text,
        grace_period_expires_date_ms::text, account_token, app_transaction_id,
        token_signed_date_ms::text, app_transaction_signed_date_ms::text
        """,
        "renewal_spans": """
        environment, original_transaction_id, trust, kind, start_ms::text, end_ms::text
        """, "owners": "\(purchase), user_id, rule, spans::text",
        "entitlements": """
        \(purchase), entitlement_key, user_id, (
            SELECT string_agg(
                (extract(epoch FROM lower(span)) * 1000)::int8 || '-'
                    || coalesce(((extract(epoch FROM upper(span)) * 1000)::int8)::text, ''),
                ' ' ORDER BY lower(span)
            )
            FROM unnest(periods) AS span
        ), ownership_type, seats::text, additional_transaction_reason, will_renew::text, renews_to,
        is_in_billing_retry::text, price_increase, expiration_reason, (extract(epoch FROM lower(grace)) * 1000)::int8::text,
        (extract(epoch FROM upper(grace)) * 1000)::int8::text
        """,
        "ledger": """
        \(purchase), transaction_id, currency, product_id, user_id, amount::text,
        taken_back::text, purchase_date_ms::text, revocation_date_ms::text
        """,
    ]
}

/// The columns have the order of `RowPicture.queries`.
extension RowPicture {
    /// Makes the rows that the tables must hold.
    init(_ facts: FactSet, _ fold: EntitlementFold) {
        for fact in facts.transactions.values.flatMap(\.values) { add(fact) }
        for fact in facts.renewals.values { add(fact) }
        for (key, spans) in facts.spans {
            for span in spans {
                add(
                    "renewal_spans",
                    [
                        key.environment.rawValue, key.originalTransactionID.text, key.trust.text, span.kind.rawValue,
                        Self.text(span.start), Self.text(span.end),
                    ])
            }
        }
        for (key, ownership) in fold.ownership {
            add("owners", Self.fields(key) + [ownership.userID?.text, ownership.rule.rawValue, Self.spans(ownership)])
        }
        for (key, projected) in fold.projected {
            for row in projected.rows {
                let periods = row.periods.periods.map { period in
                    "\(period.start.milliseconds)-" + (Self.text(period.end) ?? "")
                }
                add(
                    "entitlements",
                    Self.fields(key) + [
                        row.key.text, row.userID.text, periods.joined(separator: " "),
                        row.terms.ownershipType?.rawValue, row.terms.seats.map { String($0) },
                        row.terms.additionalTransactionReason, row.terms.status.willRenew.map { String($0) },
                        row.terms.status.renewsTo?.text, row.terms.status.isInBillingRetry.map { String($0) },
                        row.terms.status.priceIncrease?.rawValue, row.terms.status.expirationReason,
                        Self.text(row.terms.status.grace?.start), Self.text(row.terms.status.grace?.end),
                    ])
            }
            for credit in projected.credits { add(key, credit) }
        }
    }

    private mutating func add(_ fact: TransactionFact) {
        add(
            "transactions",
            [
                fact.key.environment.rawValue, fact.key.bundleID.text, fact.key.transactionID.text, fact.track.rawValue,
                Self.text(fact.revision.signedDate), fact.revision.contentHash.hex, fact.trust.text,
                fact.identity.originalTransactionID.text, fact.identity.productID.text,
                Self.text(fact.identity.purchaseDate), fact.identity.type?.rawValue,
                fact.identity.quantity.map { String($0) }, Self.text(fact.expiresDate),
                Self.text(fact.revocation?.date), Self.text(fact.track == .receipt ? fact.revoking?.signedDate : nil),
                fact.isUpgraded.map { String($0) }, fact.ownershipType?.rawValue, fact.webOrderLineItemID?.text,
                fact.transactionReason?.text, fact.additionalTransactionReason?.text,
                fact.revokedSeatQuantity.map { String($0) }, fact.subscriptionGroupID?.text,
                fact.appAccountToken?.canonical, fact.appTransactionID?.text,
                Self.text(fact.olderNaming.token?.signedDate), Self.text(fact.olderNaming.appTransaction?.signedDate),
            ])
    }

    private mutating func add(_ fact: RenewalFact) {
        add(
            "renewals",
            [
                fact.key.environment.rawValue, fact.key.originalTransactionID.text, fact.key.trust.text,
                Self.text(fact.revision.signedDate), fact.revision.contentHash.hex, fact.productID?.text,
                fact.autoRenewProductID?.text, fact.autoRenewStatus.map { String($0) },
                fact.isInBillingRetry.map { String($0) }, fact.priceIncreaseStatus.map { String($0) },
                fact.expirationIntent.map { String($0) }, Self.text(fact.renewalDate),
                Self.text(fact.gracePeriodExpiresDate), fact.appAccountToken?.canonical, fact.appTransactionID?.text,
                Self.text(fact.olderNaming.token?.signedDate), Self.text(fact.olderNaming.appTransaction?.signedDate),
            ])
    }

    private mutating func add(_ key: PurchaseKey, _ credit: LedgerCredit) {
        add(
            "ledger",
            Self.fields(key) + [
                credit.transactionID.text, credit.currency.text, credit.productID.text, credit.userID.text,
                String(credit.amount), String(credit.takenBack), Self.text(credit.purchaseDate),
                Self.text(credit.revocationDate),
            ])
    }

    private static func fields(_ key: PurchaseKey) -> [String?] {
        [key.environment.rawValue, key.bundleID.text, key.originalTransactionID.text]
    }

    private static func text(_ date: Timestamp?) -> String? { date.map { String($0.milliseconds) } }

    /// The spans as the table holds them.
    ///
    /// `nil` if there never was another owner.
    private static func spans(_ ownership: Ownership) -> String? {
        guard ownership.spans.count > 1 else { return nil }
        let spans = ownership.spans.map { "[\"\($0.userID)\",\(text($0.from) ?? "null")]" }
        return "[\(spans.joined(separator: ","))]"
    }
}
