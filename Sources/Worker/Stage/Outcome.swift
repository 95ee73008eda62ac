import AppStore

/// What became of one observation, for the one who waits to be told.
package struct Outcome: Sendable {
    package enum Status: String, Sendable, CaseIterable {
        /// It changed a fact or a row.
        case applied
        /// All of it was known already.
        case duplicate
        /// What is known is newer.
        case superseded
        /// It is recorded, and nobody is linked to the purchase yet.
        case unlinked
        /// It carries no fact and stands in the history.
        case recorded
        /// A response without items.
        case ignored
        case deadLettered = "dead_lettered"
    }

    package var status: Status
    /// Why, of a dead letter: one of the closed set of reasons.
    package var reason: String?
    /// Nil where nobody is known.
    package var userID: String?
    /// The user's entitlements in the observation's environment: one JSON array.
    ///
    /// Nil where there is no user, and for all but the last observation of a body.
    package var entitlements: [UInt8]?
    /// What of them did not fit, and where all stands: one JSON object.
    ///
    /// Nil where nothing is left out.
    package var omitted: [UInt8]?

    package init(
        _ status: Status,
        reason: String? = nil,
        userID: String? = nil,
        entitlements: [UInt8]? = nil
    ) {
        self.status = status
        self.reason = reason
        self.userID = userID
        self.entitlements = entitlements
    }

    /// How a refused record ends, whatever the stage; nil for all others.
    init?(endOf verdict: Verdict) {
        guard let refusal = verdict.refusal else {
            return nil
        }
        self.init(.deadLettered, reason: refusal.reason.rawValue)
    }
}
