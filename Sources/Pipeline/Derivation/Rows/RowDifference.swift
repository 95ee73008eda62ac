package import AppStore
package import Entitlements
import Store

/// A stored row that differs from the row projected from the facts.
package struct RowDifference: Hashable, Sendable {
    package let purchase: PurchaseKey
    package let userID: Identifier
    /// The entitlement key of a row, or the transaction ID and currency of a credit.
    package let subject: String
    package let isCredit: Bool
    /// The stored row as text, with times in UNIX milliseconds; empty without a stored row.
    package let found: String
    /// The row that should be stored, as text in the same form.
    package let expected: String
    /// Whether the stored row only lacks a status, which versions before 1.4.0 did not store.
    package let onlyAddsStatus: Bool
}

extension RowChanges {
    var differences: [RowDifference] { entitlementDifferences + creditDifferences }

    private var entitlementDifferences: [RowDifference] {
        changed.map { changed in
            RowDifference(
                purchase: changed.purchase, userID: changed.change.userID, subject: changed.change.key.text,
                isCredit: false, found: changed.change.old.text(changed.change.oldTerms),
                expected: changed.change.new.text(changed.change.newTerms),
                onlyAddsStatus: changed.change.onlyAddsStatus)
        }
    }

    private var creditDifferences: [RowDifference] {
        func difference(_ row: LedgerTable.Row, isMissing: Bool) -> RowDifference {
            let credit = row.credit
            let amount = "\(credit.amount) less \(credit.takenBack)"
            return RowDifference(
                purchase: row.purchase, userID: credit.userID, subject: "\(credit.transactionID) \(credit.currency)",
                isCredit: true, found: isMissing ? "" : amount, expected: isMissing ? amount : "", onlyAddsStatus: false
            )
        }
        return credited.map { difference($0, isMissing: true) } + uncredited.map { difference($0, isMissing: false) }
    }
}

extension PeriodSet {
    fileprivate func text(_ terms: EntitlementTerms) -> String {
        (periods.map(\.phrase) + terms.phrases).joined(separator: ", ")
    }
}

extension Period {
    fileprivate var phrase: String { "\(start.milliseconds)-\(end.map { String($0.milliseconds) } ?? "ever")" }
}

extension EntitlementTerms {
    fileprivate var phrases: [String] {
        [
            ownershipType?.rawValue, seats.map { "\($0) seats" }, additionalTransactionReason,
            status.willRenew.map { $0 ? "renews" : "does not renew" }, status.renewsTo.map { "next \($0)" },
            status.isInBillingRetry.map { $0 ? "in billing retry" : "not in billing retry" },
            status.priceIncrease.map { "price increase \($0.rawValue)" },
            status.expirationReason.map { "ended: \($0)" }, status.grace.map { "grace \($0.phrase)" },
        ].compactMap { $0 }
    }
}
