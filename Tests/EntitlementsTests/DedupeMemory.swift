import AppStore
import Entitlements
import Records

/// The deduplication with a memory of its own, as the stage runs it.
struct DedupeMemory {
    private var known: [PartKey: [PartRevision]] = [:]
    private var notifications: Set<PartKey> = []

    /// Decides on an observation, remembers it, and returns whether it is forwarded.
    mutating func passes(_ observation: Observation) -> Bool { decide(observation).goesOn }

    mutating func decide(_ observation: Observation) -> DedupeDecision {
        let parts = observation.parts
        let verdicts = parts.parts.map { $0.revision.verdict(against: known[$0.key] ?? []) }
        let isNotificationKnown = parts.notification.map { notifications.contains($0) }
        for part in parts.parts { known[part.key, default: []].append(part.revision) }
        if let notification = parts.notification { notifications.insert(notification) }
        return DedupeDecision(
            verdicts, isNotificationKnown: isNotificationKnown, hasUnidentified: parts.hasUnidentified)
    }
}
