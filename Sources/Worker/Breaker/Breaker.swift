package import OpenSSL

/// The breaker against wrong settings: pure, told the time.
///
/// Armed from start or reload until a first record is accepted, or until a while has passed without
/// reaching the limit. A wrong bundle ID must not empty a topic into the dead letters; whoever can
/// post forgeries must not be able to stop a worker that has shown that its settings are right.
package struct Breaker: Sendable {
    package enum State: Sendable, Equatable {
        /// The distinct values refused so far.
        case armed(refused: Set<SHA256Digest>)
        case disarmed
        /// The settings are taken to be wrong.
        case tripped
    }

    /// What one batch means for it.
    package struct Findings: Sendable {
        /// The batch held a record that was accepted.
        package var hasAccepted: Bool
        /// Of the records whose signatures are good and that only the settings do not know.
        package var refused: [SHA256Digest]

        package init(hasAccepted: Bool, refused: [SHA256Digest]) {
            self.hasAccepted = hasAccepted
            self.refused = refused
        }
    }

    package enum Decision: Sendable, Equatable {
        /// The batch is like any other.
        case pass
        /// The batch is like any other, and what was held is read again.
        case disarm
        /// From each refused record on nothing of its partition is written or committed.
        case hold
        /// As `hold`, and no more is read until the settings are loaded anew.
        case trip
    }

    package private(set) var state = State.armed(refused: [])
    /// Distinct refused values at which it trips.
    package let distinctMax: Int
    /// After this long without tripping it is disarmed.
    package let window: Duration
    private let armedAt: ContinuousClock.Instant

    package init(
        distinctMax: Int = 1_000,
        window: Duration = .seconds(60),
        now: ContinuousClock.Instant
    ) {
        precondition(distinctMax > 0, "a breaker that trips at nothing stops every worker")
        self.distinctMax = distinctMax
        self.window = window
        armedAt = now
    }

    package var isArmed: Bool {
        if case .armed = state { true } else { false }
    }

    /// Judges a batch as a whole: one acceptance in it shows that the settings are right.
    package mutating func judge(_ findings: Findings) -> Decision {
        guard case .armed(var refused) = state else {
            return state == .tripped ? .trip : .pass
        }
        if findings.hasAccepted {
            state = .disarmed
            return .disarm
        }
        guard !findings.refused.isEmpty else { return .pass }
        refused.formUnion(findings.refused)
        if refused.count >= distinctMax {
            state = .tripped
            return .trip
        }
        state = .armed(refused: refused)
        return .hold
    }

    /// Lets time pass; true when that has disarmed it.
    package mutating func tick(_ now: ContinuousClock.Instant) -> Bool {
        guard isArmed, now - armedAt >= window else { return false }
        state = .disarmed
        return true
    }
}
