import AppStore
import Entitlements
import JSON
import Records
import Store

/// One observation of a batch; a class, because it is large and passed on often.
final class EntitleRecord: Sendable {
    let observation: Observation

    init(_ observation: consuming Observation) {
        self.observation = observation
    }

    var transaction: TransactionFact? { observation.facts.transaction }
    var renewal: RenewalFact? { observation.facts.renewal }

    /// The purchase it is about; nil for an app transaction, or a notification without a fact.
    var scope: PurchaseScope? {
        transaction?.purchaseKey.scope ?? renewal?.key.scope ?? relinked?.scope
    }

    /// Inserts all scopes that are locked and read for it.
    ///
    /// A transaction and its renewal info normally name one purchase; if they do not, there are
    /// two.
    func insertScopes(into scopes: inout Set<PurchaseScope>) {
        if let scope { scopes.insert(scope) }
        if let renewal { scopes.insert(renewal.key.scope) }
    }

    /// The purchase whose owner changed, if the record says nothing else.
    var relinked: PurchaseKey? {
        guard let original = observation.relinkedPurchase, let bundleID = observation.bundleID
        else { return nil }
        return PurchaseKey(
            environment: observation.environment,
            bundleID: bundleID,
            originalTransactionID: original
        )
    }
}
