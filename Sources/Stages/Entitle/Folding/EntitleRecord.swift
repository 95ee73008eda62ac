import AppStore
import Entitlements
import JSON
import Records
import Store

/// One observation of a batch; a class, because it is large and passed around often.
final class EntitleRecord: Sendable {
    let observation: Observation

    init(_ observation: consuming Observation) {
        self.observation = observation
    }

    var transaction: TransactionFact? { observation.facts.transaction }
    var renewal: RenewalFact? { observation.facts.renewal }

    /// The scope of the record's purchase; nil for an app transaction, or a notification without a
    /// fact.
    var scope: PurchaseScope? {
        transaction?.purchaseKey.scope ?? renewal?.key.scope ?? relinkedPurchase?.scope
    }

    /// Inserts the scopes to lock and read for this record.
    ///
    /// A transaction and its renewal info normally name the same purchase, else both are inserted.
    func insertScopes(into scopes: inout Set<PurchaseScope>) {
        if let scope { scopes.insert(scope) }
        if let renewal { scopes.insert(renewal.key.scope) }
    }

    /// The purchase of a record that only reports its changed owner; nil for any other record.
    var relinkedPurchase: PurchaseKey? {
        guard let original = observation.relinkedPurchase, let bundleID = observation.bundleID
        else { return nil }
        return PurchaseKey(
            environment: observation.environment,
            bundleID: bundleID,
            originalTransactionID: original
        )
    }
}
