/// What becomes of an observation, from the verdicts on its parts.
package enum DedupeDecision: Hashable, Sendable {
    case forwarded
    case refreshed
    case superseded
    case duplicate
    case conflict(ImmutableField)

    /// An observation is dropped only when no part of it says anything new.
    ///
    /// - Parameters:
    ///   - verdicts: one per part.
    ///   - isNotificationKnown: nil when it came by no notification. Another notification of equal
    ///     state has another UUID and goes on, as history.
    ///   - hasUnidentified: see `ObservationParts`.
    package init(
        _ verdicts: [PartVerdict],
        isNotificationKnown: Bool? = nil,
        hasUnidentified: Bool = false
    ) {
        var decision = DedupeDecision.duplicate
        if isNotificationKnown == false || hasUnidentified {
            decision = .forwarded
        }
        for verdict in verdicts {
            decision = max(decision, DedupeDecision(verdict))
        }
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

    /// Whether the observation goes on to the next stage.
    package var goesOn: Bool {
        switch self {
        case .forwarded, .refreshed, .superseded: true
        case .duplicate, .conflict: false
        }
    }
}

extension DedupeDecision: Comparable {
    /// What says more counts for the whole observation; a conflict above all.
    package static func < (left: DedupeDecision, right: DedupeDecision) -> Bool {
        left.weight < right.weight
    }

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

/// What a part says, against what is known of its ID.
package enum PartVerdict: Hashable, Sendable {
    /// Content that decides from now on.
    case new
    /// Known content, signed anew: goes on, so that the sink raises the fact's date. Dropped, it
    /// would let a late older revision win.
    case refreshed
    /// Older than what is known: goes on, for the history and for the graces it may name.
    case superseded
    case duplicate
    /// A field that never changes for an ID differs from what is known.
    case conflict(ImmutableField)
}
