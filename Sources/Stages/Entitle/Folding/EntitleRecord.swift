import AppStore
import Entitlements
import JSON
import Records
import Store

/// One observation, taken apart into what it states.
///
/// Large and handed around, so it is referred to and not copied.
final class EntitleRecord: Sendable {
    let observation: Observation
    let transaction: TransactionFact?
    let renewal: RenewalFact?

    /// - Throws: where a payload lacks what the verifier requires of every such payload.
    init(_ observation: Observation) throws(ObservationError) {
        self.observation = observation
        transaction = try Self.transaction(observation)
        renewal = try Self.renewal(observation)
    }

    /// The purchases it is about; nil for an app transaction, or a notification without a fact.
    var scope: PurchaseScope? {
        transaction?.purchaseKey.scope ?? renewal?.key.scope ?? relinked?.scope
    }

    /// All that is locked and read for it.
    ///
    /// A transaction and the renewal info that came with it name one purchase; where they do not,
    /// there are two.
    var scopes: Set<PurchaseScope> {
        var scopes: Set<PurchaseScope> = []
        if let scope { scopes.insert(scope) }
        if let renewal { scopes.insert(renewal.key.scope) }
        return scopes
    }

    /// The purchase whose owner changed, where that is all that is said.
    var relinked: PurchaseKey? {
        guard let original = observation.relinkedPurchase, let bundleID = observation.bundleID
        else { return nil }
        return PurchaseKey(
            environment: observation.environment,
            bundleID: bundleID,
            originalTransactionID: original
        )
    }

    private static func transaction(
        _ observation: Observation
    ) throws(ObservationError) -> TransactionFact? {
        guard let payload = observation.transaction else { return nil }
        let transaction = TransactionPayload(payload)
        guard let bundleID = observation.bundleID else { throw .member("bundleID") }
        guard let verification = observation.verification else { throw .member("verification") }
        guard let signedDate = transaction.signedDate,
            let fact = TransactionFact(
                transaction,
                revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(payload)),
                environment: observation.environment,
                bundleID: bundleID,
                track: Track(verification.method),
                trust: verification.trust
            )
        else { throw .member("transaction") }
        return fact
    }

    private static func renewal(
        _ observation: Observation
    ) throws(ObservationError) -> RenewalFact? {
        guard let payload = observation.renewalInfo else { return nil }
        guard let verification = observation.verification else { throw .member("verification") }
        let renewal = RenewalPayload(payload)
        guard let signedDate = renewal.signedDate,
            let fact = RenewalFact(
                renewal,
                revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(payload)),
                environment: observation.environment,
                trust: verification.trust
            )
        else { throw .member("renewalInfo") }
        return fact
    }
}
