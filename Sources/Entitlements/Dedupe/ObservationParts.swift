package import AppStore

/// The parts of an observation, of each of which the deduplication decides by itself.
package struct ObservationParts: Sendable {
    /// In the order transaction, claim, renewal info, app transaction.
    package let parts: [ObservedPart]
    /// The key of the notification it came by; nil when it came by none, or by one without a UUID.
    package let notification: PartKey?
    /// Whether it says something that no ID can tell apart, a notification without a UUID: that is
    /// never a duplicate.
    package let hasUnidentified: Bool

    /// - Parameters:
    ///   - claim: the user whom the ingestion service names beside the transaction.
    ///   - notification: what the facts came by.
    package init(
        _ facts: SignedFacts,
        claim: UserClaim?,
        notification: ObservedNotification?,
        in environment: Environment
    ) {
        var parts: [ObservedPart] = []
        if let fact = facts.transaction {
            parts.append(ObservedPart(key: .transaction(fact.key), revision: fact.part))
            if let claim {
                let position = PartRevision(revision: claim.position.earliestFirst)
                parts.append(
                    ObservedPart(key: .claim(fact.key, userID: claim.userID), revision: position)
                )
            }
        }
        if let fact = facts.renewal {
            parts.append(ObservedPart(key: .renewal(fact.key), revision: fact.part))
        }
        if let fact = facts.appTransaction {
            let key = PartKey.appTransaction(
                fact.environment,
                bundleID: fact.bundleID,
                id: fact.id
            )
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

extension TransactionFact {
    /// What the deduplication compares of it.
    package var part: PartRevision {
        PartRevision(
            track: track,
            revision: revision,
            identity: key.environment.reusesIDs ? nil : identity
        )
    }
}

extension RenewalFact {
    /// What the deduplication compares of it: Apple signs renewal infos as JWS alone.
    package var part: PartRevision {
        PartRevision(revision: revision)
    }
}

/// One part of an observation: what it is about, and which revision of it.
///
/// The deduplication refers to it from its reading until it is remembered, and does not copy it.
package final class ObservedPart: Sendable {
    package let key: PartKey
    package let revision: PartRevision

    package init(key: PartKey, revision: PartRevision) {
        self.key = key
        self.revision = revision
    }

    /// Compares the part with what is known of its ID.
    ///
    /// Beside a transaction the first record that names a user says it all, and an earlier one of
    /// the same user matters only for who was first.
    package func verdict(against known: [PartRevision]) -> PartVerdict {
        guard case .claim = key else { return revision.verdict(against: known) }
        guard let earliest = known.map(\.revision).max() else { return .new }
        return revision.revision > earliest ? .refreshed : .duplicate
    }
}

/// What one part of an observation says something about.
package enum PartKey: Hashable, Sendable {
    case transaction(TransactionKey)
    case renewal(RenewalKey)
    /// By `appTransactionId`, or where there is none by the content's own hash.
    case appTransaction(Environment, bundleID: Identifier, id: Identifier)
    /// The user whom the ingestion service names beside a transaction: a statement of its own,
    /// which the same transaction without it must not hide.
    case claim(TransactionKey, userID: Identifier)
    case notification(Environment, uuid: Identifier)
}
