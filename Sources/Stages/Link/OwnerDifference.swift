package import AppStore
package import Entitlements
import Store

/// An owner that does not follow from the facts, the links and the rules.
package struct OwnerDifference: Hashable, Sendable {
    package let purchase: PurchaseKey
    /// The right owner; nil for nobody.
    package let userID: Identifier?
    /// As text: the stored owner and the right one.
    package let found: String
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
