package import AppStore
package import Entitlements
import Store

/// A stored owner that differs from the owner by facts, links and rules.
package struct OwnerDifference: Hashable, Sendable {
    package let purchase: PurchaseKey
    /// The owner that should be stored.
    ///
    /// `nil` if nobody owns the purchase.
    package let userID: Identifier?
    /// The stored owner as text; empty without a stored owner.
    package let found: String
    /// The owner that should be stored, as text in the same form.
    package let expected: String

    init?(_ purchase: PurchaseKey, found: StoredOwner?, expected: StoredOwner) {
        guard found != expected else { return nil }
        self.purchase = purchase
        userID = expected.userID
        self.found = found.map(\.phrase) ?? ""
        self.expected = expected.phrase
    }
}

extension StoredOwner {
    fileprivate var phrase: String {
        var words = ["\(userID ?? "nobody") by \(rule)"]
        if let spans { words.append("in turn \(String(decoding: spans.bytes, as: UTF8.self))") }
        if let directUserID, directUserID != userID { words.append("directly \(directUserID)") }
        if let appTransactionID { words.append("of account \(appTransactionID)") }
        return words.joined(separator: ", ")
    }
}
