import AppStore
package import Entitlements
import JSON
import OpenSSL

/// The parts of an observation that are judged one by one.
package struct ObservationParts: Sendable {
    /// In the order transaction, claim, renewal info, app transaction.
    package var parts: [ObservedPart] = []
    /// The key of the notification it came by; nil when it came by none, or by one without a UUID.
    package var notification: PartKey?
    /// Whether it says something that no ID can tell apart, such as a notification without a UUID:
    /// that is never a duplicate.
    package var hasUnidentified = false

    package init(_ observation: Observation) {
        if let verification = observation.verification {
            addPayloads(of: observation, verification)
        }
        if let notification = observation.notification {
            if let uuid = notification.uuid {
                self.notification = .notification(
                    observation.environment,
                    uuid: uuid.lowercased()
                )
            } else {
                hasUnidentified = true
            }
        }
    }

    private mutating func addPayloads(
        of observation: Observation,
        _ verification: VerificationFacts
    ) {
        let track = Track(verification.method)
        if let payload = observation.transaction {
            add(transaction: payload, of: observation, track)
        }
        if let payload = observation.renewalInfo {
            add(renewal: payload, of: observation, verification.trust, track)
        }
        if let payload = observation.appTransaction {
            add(appTransaction: payload, of: observation, track)
        }
    }

    private mutating func add(
        transaction payload: JSONValue,
        of observation: Observation,
        _ track: Track
    ) {
        let transaction = TransactionPayload(payload)
        guard let id = transaction.transactionID, let signedDate = transaction.signedDate,
            let bundleID = observation.bundleID
        else {
            hasUnidentified = true
            return
        }
        let key = TransactionKey(
            environment: observation.environment,
            bundleID: bundleID,
            transactionID: id.string
        )
        add(
            .transaction(key),
            payload,
            signedDate,
            track,
            identity: TransactionIdentity(transaction)
        )
        if let userID = observation.ingestUserID, let source = observation.source {
            parts.append(
                ObservedPart(
                    key: .claim(key, userID: userID),
                    revision: PartRevision(revision: RawPosition(source).earliestFirst)
                )
            )
        }
    }

    private mutating func add(
        renewal payload: JSONValue,
        of observation: Observation,
        _ trust: Trust,
        _ track: Track
    ) {
        let renewal = RenewalPayload(payload)
        guard let original = renewal.originalTransactionID, let signedDate = renewal.signedDate
        else {
            hasUnidentified = true
            return
        }
        let key = RenewalKey(
            environment: observation.environment,
            originalTransactionID: original.string,
            trust: trust
        )
        add(.renewal(key), payload, signedDate, track)
    }

    private mutating func add(
        appTransaction payload: JSONValue,
        of observation: Observation,
        _ track: Track
    ) {
        let transaction = AppTransactionPayload(payload)
        guard let signedDate = transaction.signedDate, let bundleID = observation.bundleID else {
            hasUnidentified = true
            return
        }
        let id = transaction.appTransactionID?.string ?? "sha256:" + ContentHash.of(payload).hex
        add(
            .appTransaction(observation.environment, bundleID: bundleID, id: id),
            payload,
            signedDate,
            track
        )
    }

    private mutating func add(
        _ key: PartKey,
        _ payload: JSONValue,
        _ signedDate: Timestamp,
        _ track: Track,
        identity: TransactionIdentity? = nil
    ) {
        let revision = Revision(signedDate: signedDate, contentHash: ContentHash.of(payload))
        parts.append(
            ObservedPart(
                key: key,
                revision: PartRevision(track: track, revision: revision, identity: identity)
            )
        )
    }
}
