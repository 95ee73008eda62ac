package import AppStore

/// The parts of an observation, each deduplicated separately.
package struct ObservationParts: Sendable {
    /// The parts in the order transaction, claim, renewal info, app transaction.
    package let parts: [ObservedPart]
    /// The key of the notification.
    ///
    /// `nil` without a notification, or without its UUID.
    package let notification: PartKey?
    /// Whether the observation has a notification without a UUID: it is never a duplicate, because no ID identifies
    /// it.
    package let hasUnidentified: Bool

    /// - Parameters:
    ///   - claim: the user named by the ingestion service beside the transaction.
    ///   - notification: the notification that delivered the facts.
    package init(
        _ facts: SignedFacts, claim: UserClaim?, notification: ObservedNotification?, in environment: Environment
    ) {
        var parts: [ObservedPart] = []
        if let fact = facts.transaction {
            parts.append(ObservedPart(key: .transaction(fact.key), revision: fact.part))
            if let claim {
                let position = PartRevision(revision: claim.position.earliestFirst)
                parts.append(ObservedPart(key: .claim(fact.key, userID: claim.userID), revision: position))
            }
        }
        if let fact = facts.renewal { parts.append(ObservedPart(key: .renewal(fact.key), revision: fact.part)) }
        if let fact = facts.appTransaction {
            let key = PartKey.appTransaction(fact.environment, bundleID: fact.bundleID, id: fact.id)
            let revision = PartRevision(track: fact.track, revision: fact.revision)
            parts.append(ObservedPart(key: key, revision: revision))
        }
        self.parts = parts
        self.notification = notification?.uuid.map { uuid in
            .notification(environment, uuid: Identifier(uuid.lowercased()))
        }
        hasUnidentified = notification != nil && notification?.uuid == nil
    }
}

extension TransactionMembers {
    /// The part that the deduplication compares.
    package var part: PartRevision {
        PartRevision(track: track, revision: revision, identity: key.environment.reusesIDs ? nil : identity)
    }
}

extension RenewalFact {
    /// The part that the deduplication compares; it needs no track, because Apple signs renewal infos only as JWS.
    package var part: PartRevision { PartRevision(revision: revision) }
}

/// A part of an observation: its key, and its revision.
///
/// A class, because the deduplication refers to the part from reading it until it is stored.
package final class ObservedPart: Sendable {
    package let key: PartKey
    package let revision: PartRevision

    package init(key: PartKey, revision: PartRevision) {
        self.key = key
        self.revision = revision
    }

    /// Compares the part with the known revisions of its ID.
    ///
    /// The first record with the user is enough for a claim beside a transaction; an earlier record of the same user
    /// matters only for the order of claims.
    package func verdict(against known: [PartRevision]) -> PartVerdict {
        guard case .claim = key else { return revision.verdict(against: known) }
        guard let earliest = known.map(\.revision).max() else { return .new }
        return revision.revision > earliest ? .refreshed : .duplicate
    }
}

/// The subject of one part of an observation.
package enum PartKey: Hashable, Sendable {
    case transaction(TransactionKey)
    case renewal(RenewalKey)
    /// An app transaction with its `appTransactionId`, or if absent the hash of the content.
    case appTransaction(Environment, bundleID: Identifier, id: Identifier)
    /// The user named by the ingestion service beside a transaction.
    ///
    /// The user is a separate part, so that the same transaction without a user does not make the claim a duplicate.
    case claim(TransactionKey, userID: Identifier)
    case notification(Environment, uuid: Identifier)
}
