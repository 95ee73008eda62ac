import AppStore
package import Entitlements
import JSON
package import Records
package import Store

/// An observation in a batch.
package typealias EntitleRecord = Shared<Observation>

extension EntitleRecord {
    package var transaction: TransactionFact? { value.facts.transaction }
    package var renewal: RenewalFact? { value.facts.renewal }

    /// The scope of the record's purchase.
    ///
    /// `nil` for an app transaction, or a notification without a fact.
    package var scope: PurchaseScope? {
        transaction?.purchaseKey.scope ?? renewal?.key.scope ?? relinkedPurchase?.scope
    }

    /// Inserts the scopes to lock and read for this record.
    ///
    /// A transaction and its renewal info normally name the same purchase; otherwise both scopes are inserted.
    package func insertScopes(into scopes: inout Set<PurchaseScope>) {
        if let scope { scopes.insert(scope) }
        if let renewal { scopes.insert(renewal.key.scope) }
    }

    /// The purchase of a record that only reports a changed owner.
    ///
    /// `nil` for any other record.
    var relinkedPurchase: PurchaseKey? {
        guard let original = value.relinkedPurchase, let bundleID = value.bundleID else { return nil }
        return PurchaseKey(environment: value.environment, bundleID: bundleID, originalTransactionID: original)
    }
}
