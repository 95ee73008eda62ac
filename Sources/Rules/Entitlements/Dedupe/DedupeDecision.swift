/// The decision about an observation, from the verdicts on its parts.
package enum DedupeDecision: Hashable, Sendable {
    case forwarded
    case refreshed
    case superseded
    case duplicate
    case conflict(ImmutableField)

    /// Decides about an observation, which is dropped only if none of its parts is new.
    ///
    /// - Parameters:
    ///   - verdicts: one verdict for each part.
    ///   - isNotificationKnown: whether the notification's UUID is known; `nil` without a notification. Another
    ///     notification about the same state has another UUID and is forwarded as history.
    ///   - hasUnidentified: see `ObservationParts`.
    package init(_ verdicts: [PartVerdict], isNotificationKnown: Bool? = nil, hasUnidentified: Bool = false) {
        var decision = DedupeDecision.duplicate
        if isNotificationKnown == false || hasUnidentified { decision = .forwarded }
        for verdict in verdicts { decision = max(decision, DedupeDecision(verdict)) }
        self = decision
    }

    private init(_ verdict: PartVerdict) {
        switch verdict {
        case .new: self = .forwarded
        case .refreshed: self = .refreshed
        case .superseded: self = .superseded
        case .duplicate: self = .duplicate
        case .conflict(let field): self = .conflict(field)
        }
    }

    package var goesOn: Bool {
        switch self {
        case .forwarded, .refreshed, .superseded: true
        case .duplicate, .conflict: false
        }
    }
}

extension DedupeDecision: Comparable {
    /// Compares by weight: the greatest decision applies to the whole observation, and a conflict is the greatest of
    /// all.
    package static func < (left: DedupeDecision, right: DedupeDecision) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .duplicate: 0
        case .superseded: 1
        case .refreshed: 2
        case .forwarded: 3
        case .conflict: 4
        }
    }
}

/// The comparison of a part with the known revisions of its ID.
package enum PartVerdict: Hashable, Sendable {
    /// New content that becomes the current content.
    case new
    /// A known content with a newer signature.
    ///
    /// The part is forwarded, so that the sink raises the fact's date: otherwise a late older revision would win.
    case refreshed
    /// Content older than the known content: forwarded for the history and for grace periods that it may contain.
    case superseded
    case duplicate
    /// An immutable field of the ID differs from the known value.
    case conflict(ImmutableField)
}
