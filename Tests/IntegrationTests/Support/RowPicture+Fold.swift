import AppStore
import Entitlements
import OpenSSL
import TestSupport

/// The columns stand in the order of `RowPicture.queries`.
extension RowPicture {
    /// What the tables have to hold.
    init(_ facts: FactSet, _ fold: EntitlementFold) {
        for fact in facts.transactions.values.flatMap(\.values) {
            add(fact)
        }
        for fact in facts.renewals.values {
            add(fact)
        }
        for (key, graces) in facts.graces {
            for grace in graces {
                add(
                    "grace_periods",
                    [
                        key.environment.rawValue, key.originalTransactionID, key.trust.text,
                        Self.text(grace.expiresDate), Self.text(grace.renewalDate),
                    ]
                )
            }
        }
        for (key, ownership) in fold.ownership {
            add(
                "owners",
                Self.fields(key) + [
                    ownership.userID, ownership.rule.rawValue, Self.spans(ownership),
                ]
            )
        }
        for (key, projected) in fold.projected {
            for row in projected.rows {
                let periods = row.periods.periods.map { period in
                    "\(period.start.milliseconds)-" + (Self.text(period.end) ?? "")
                }
                add(
                    "entitlements",
                    Self.fields(key) + [row.key, row.userID, periods.joined(separator: " ")]
                )
            }
            for credit in projected.credits {
                add(key, credit)
            }
        }
    }

    private mutating func add(_ fact: TransactionFact) {
        add(
            "transactions",
            [
                fact.key.environment.rawValue, fact.key.bundleID, fact.key.transactionID,
                fact.track.rawValue, Self.text(fact.revision.signedDate),
                fact.revision.contentHash.hex, fact.trust.text,
                fact.identity.originalTransactionID, fact.identity.productID,
                Self.text(fact.identity.purchaseDate), fact.identity.type?.rawValue,
                fact.identity.quantity.map { String($0) }, Self.text(fact.expiresDate),
                Self.text(fact.revocation?.date),
                Self.text(fact.track == .receipt ? fact.revoking?.signedDate : nil),
                fact.isUpgraded.map { String($0) },
                String(fact.isFamilyShared), fact.subscriptionGroupID,
                fact.appAccountToken?.canonical, fact.appTransactionID,
            ]
        )
    }

    private mutating func add(_ fact: RenewalFact) {
        add(
            "renewals",
            [
                fact.key.environment.rawValue, fact.key.originalTransactionID, fact.key.trust.text,
                Self.text(fact.revision.signedDate), fact.revision.contentHash.hex,
                fact.productID, fact.autoRenewProductID,
                fact.autoRenewStatus.map { String($0) },
                fact.isInBillingRetry.map { String($0) },
                fact.expirationIntent.map { String($0) }, Self.text(fact.renewalDate),
                Self.text(fact.gracePeriodExpiresDate), fact.appAccountToken?.canonical,
                fact.appTransactionID,
            ]
        )
    }

    private mutating func add(_ key: PurchaseKey, _ credit: LedgerCredit) {
        add(
            "ledger",
            Self.fields(key) + [
                credit.transactionID, credit.currency, credit.productID, credit.userID,
                String(credit.amount), String(credit.takenBack), Self.text(credit.purchaseDate),
                Self.text(credit.revocationDate),
            ]
        )
    }

    private static func fields(_ key: PurchaseKey) -> [String?] {
        [key.environment.rawValue, key.bundleID, key.originalTransactionID]
    }

    private static func text(_ date: Timestamp?) -> String? {
        date.map { String($0.milliseconds) }
    }

    /// Nil where there never was another owner, as in the table.
    private static func spans(_ ownership: Ownership) -> String? {
        guard ownership.spans.count > 1 else { return nil }
        let spans = ownership.spans.map { "[\"\($0.userID)\",\(text($0.from) ?? "null")]" }
        return "[\(spans.joined(separator: ","))]"
    }
}
