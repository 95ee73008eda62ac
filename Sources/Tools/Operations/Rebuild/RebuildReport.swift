import AppStore
import Commands
import Derivation
import Entitlements
import JSON

/// The summary of a rebuild.
struct RebuildReport {
    let isReplacing: Bool
    /// Whether owners were compared too; false until a `link-worker` has stored its rules.
    let comparesOwners: Bool
    /// Number of purchases, including those that the database refused.
    var purchaseCount = 0
    var differenceCount = 0
    /// Number of differences that `--replace` cannot correct.
    var lastingCount = 0
    var refusedCount = 0

    mutating func add(_ differences: RebuildDifferences) {
        differenceCount += differences.count
        lastingCount += differences.lastingCount
        refusedCount += differences.refused.count
    }

    var line: String {
        let compared =
            "\(Quantity.counted(purchaseCount - refusedCount, "purchase")) compared"
            + (comparesOwners ? "" : ", with the current owners (no link-worker has run yet)")
        let refused = refusedCount > 0 ? "; \(refusedCount) refused by the database" : ""
        guard differenceCount > 0 else {
            return "\(compared): every row follows from the facts, and every fact matches what "
                + "was signed\(refused)"
        }
        let lasting = lastingCount > 0 ? "; \(lastingCount) cannot be replaced: the lines above say what to do" : ""
        return "\(compared): \(Quantity.counted(differenceCount, "difference"))"
            + (isReplacing ? replaced : "; 'pipeline rebuild --replace' writes what was signed and what follows")
            + lasting + refused
    }

    private var replaced: String {
        lastingCount > 0 ? ", \(differenceCount - lastingCount) of them replaced" : ", replaced"
    }

    var json: JSONContent {
        [
            "kind": "summary", "purchases": purchaseCount, "differences": differenceCount, "lasting": lastingCount,
            "refused": refusedCount, "is_replaced": isReplacing, "is_of_owners": comparesOwners,
        ]
    }
}

extension RowDifference {
    var line: String {
        let place = "\(purchase.environment.rawValue) \(purchase.bundleID)"
        let kind = isCredit ? "credit" : "entitlement"
        return "\(place) \(purchase.originalTransactionID) \(userID) \(kind) \(subject): is "
            + "\(found.isEmpty ? "nothing" : found), should be " + "\(expected.isEmpty ? "nothing" : expected)"
    }

    /// - Parameter isKept: whether `--replace` leaves it unchanged.
    func json(isKept: Bool) -> JSONContent {
        purchase.json(isCredit ? "credit" : "entitlement", userID) + [
            "subject": subject, "found": found, "expected": expected, "is_kept": isKept,
        ]
    }
}

extension OwnerDifference {
    var line: String {
        let place = "\(purchase.environment.rawValue) \(purchase.bundleID)"
        return "\(place) \(purchase.originalTransactionID) owner: is "
            + "\(found.isEmpty ? "nothing" : found), should be \(expected)"
    }

    /// - Parameter isKept: whether `--replace` leaves it unchanged.
    func json(isKept: Bool) -> JSONContent {
        purchase.json("owner", userID) + ["found": found, "expected": expected, "is_kept": isKept]
    }
}

extension RefusedPurchase {
    var line: String { "\(purchase.environment.rawValue) \(purchase.originalTransactionID): not compared, " + detail }

    var json: JSONContent { purchase.json("refused", nil) + ["detail": detail] }
}

extension PurchaseKey {
    /// The members with which every line about a purchase begins.
    fileprivate func json(_ kind: String, _ userID: Identifier?) -> JSONContent {
        [
            "kind": kind, "environment": environment.rawValue, "bundle_id": bundleID,
            "original_transaction_id": originalTransactionID, "user_id": userID,
        ]
    }
}
