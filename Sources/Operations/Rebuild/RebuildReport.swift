import AppStore
import EntitleStage
import Entitlements
import JSON
import LinkStage
import Settings

/// The summary of a rebuild.
struct RebuildReport {
    let isReplaced: Bool
    /// Whether owners were compared too: not before a link-worker has written down its rules.
    let isOfOwners: Bool
    var purchaseCount = 0
    var differenceCount = 0
    /// How many of the differences have to be put right by other means.
    var lastingCount = 0
    var refusedCount = 0

    mutating func add(_ differences: RebuildDifferences) {
        differenceCount += differences.count
        lastingCount += differences.lastingCount
        refusedCount += differences.refused.count
    }

    var line: String {
        let compared =
            "\(Quantity.counted(purchaseCount, "purchase")) compared"
            + (isOfOwners ? "" : ", by the owners as they stand (no link-worker has run yet)")
        let refused = refusedCount > 0 ? "; \(refusedCount) refused by the database" : ""
        guard differenceCount > 0 else {
            return "\(compared): each row is what the facts say, and each fact what was signed"
                + refused
        }
        let lasting = lastingCount > 0 ? "; \(lastingCount) can only be put right as said" : ""
        return "\(compared): \(Quantity.counted(differenceCount, "difference"))"
            + (isReplaced ? ", replaced" : "; --replace writes what was signed and what follows")
            + lasting + refused
    }

    var json: JSONContent {
        [
            "kind": "summary", "purchases": purchaseCount, "differences": differenceCount,
            "lasting": lastingCount, "refused": refusedCount, "is_replaced": isReplaced,
            "is_of_owners": isOfOwners,
        ]
    }
}

extension RowDifference {
    var line: String {
        let place = "\(purchase.environment.rawValue) \(purchase.bundleID)"
        let kind = isCredit ? "credit" : "entitlement"
        return "\(place) \(purchase.originalTransactionID) \(userID) \(kind) \(subject): is "
            + "\(found.isEmpty ? "nothing" : found), follows "
            + "\(expected.isEmpty ? "nothing" : expected)"
    }

    /// - Parameter isKept: whether `--replace` has left it as it is.
    func json(isKept: Bool) -> JSONContent {
        purchase.json(isCredit ? "credit" : "entitlement", userID)
            + ["subject": subject, "found": found, "expected": expected, "is_kept": isKept]
    }
}

extension OwnerDifference {
    var line: String {
        let place = "\(purchase.environment.rawValue) \(purchase.bundleID)"
        return "\(place) \(purchase.originalTransactionID) owner: is "
            + "\(found.isEmpty ? "nothing" : found), follows \(expected)"
    }

    /// - Parameter isKept: whether `--replace` has left it as it is.
    func json(isKept: Bool) -> JSONContent {
        purchase.json("owner", userID) + ["found": found, "expected": expected, "is_kept": isKept]
    }
}

extension RefusedPurchase {
    var line: String {
        "\(purchase.environment.rawValue) \(purchase.originalTransactionID): not compared, "
            + detail
    }

    var json: JSONContent { purchase.json("refused", nil) + ["detail": detail] }
}

extension PurchaseKey {
    /// The members that every difference of a purchase begins with.
    fileprivate func json(_ kind: String, _ userID: Identifier?) -> JSONContent {
        [
            "kind": kind, "environment": environment.rawValue, "bundle_id": bundleID,
            "original_transaction_id": originalTransactionID, "user_id": userID,
        ]
    }
}
