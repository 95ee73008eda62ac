import AppStore
package import Entitlements
import JSON

extension FactSet {
    /// Adds what an observation states.
    ///
    /// - Returns: as `add(_:)` of a transaction.
    @discardableResult
    package mutating func add(_ observation: Observation) -> ImmutableField? {
        if let payload = observation.renewalInfo, let fact = renewalFact(payload, observation) {
            add(fact)
        }
        guard let payload = observation.transaction,
            let fact = transactionFact(payload, observation)
        else { return nil }
        if let conflict = add(fact) {
            return conflict
        }
        if let user = observation.ingestUserID, let source = observation.source {
            let claim = UserClaim(
                transactionID: fact.key.transactionID,
                purchaseDate: fact.identity.purchaseDate,
                position: RawPosition(source),
                userID: user
            )
            add(claim, on: fact.purchaseKey)
        }
        return nil
    }

    private func transactionFact(
        _ payload: JSONValue,
        _ observation: Observation
    ) -> TransactionFact? {
        let transaction = TransactionPayload(payload)
        guard let signedDate = transaction.signedDate, let bundleID = observation.bundleID,
            let verification = observation.verification
        else { return nil }
        return TransactionFact(
            transaction,
            revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(payload)),
            environment: observation.environment,
            bundleID: bundleID,
            track: Track(verification.method),
            trust: verification.trust
        )
    }

    private func renewalFact(_ payload: JSONValue, _ observation: Observation) -> RenewalFact? {
        let renewal = RenewalPayload(payload)
        guard let signedDate = renewal.signedDate, let verification = observation.verification
        else { return nil }
        return RenewalFact(
            renewal,
            revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(payload)),
            environment: observation.environment,
            trust: verification.trust
        )
    }
}
