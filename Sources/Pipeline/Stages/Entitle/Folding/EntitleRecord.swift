import AppStore
import Entitlements
import JSON
import Records
import Store

/// An observation in a batch.
typealias EntitleRecord = Shared<Observation>

extension EntitleRecord {
    var transaction: TransactionFact? { value.facts.transaction }
    var renewal: RenewalFact? { value.facts.renewal }

    /// The scope of the record's purchase.
    ///
    /// `nil` for an app transaction, or a notification without a fact.
    var scope: PurchaseScope? { transaction?.purchaseKey.scope ?? renewal?.key.scope ?? relinkedPurchase?.scope }

    /// Inserts the scopes to lock and read for this record.
    ///
    /// A transaction and its renewal info normally name the same purchase; otherwise both scopes are inserted.
    func insertScopes(into scopes: inout Set<PurchaseScope>) {
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
