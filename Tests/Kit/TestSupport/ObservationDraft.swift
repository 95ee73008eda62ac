package import AppStore
package import Entitlements
package import JSON
package import Records
import Simulation

/// The parts of an observation, for tests that need a variation of it.
package struct ObservationDraft {
    package var source: ObservationSource
    package var environment: Environment
    package var bundleID: Identifier?
    package var verification: VerificationFacts
    package var transaction: JSONValue?
    package var renewalInfo: JSONValue?
    package var appTransaction: JSONValue?
    package var receipt: JSONValue?
}

extension Observation {
    /// The same statement with something else in it, made as `verify-worker` makes it.
    package func with(_ change: (inout ObservationDraft) throws -> Void) throws -> Observation {
        guard let source, let verification else { throw ScenarioError("nobody signed it") }
        var draft = ObservationDraft(
            source: source, environment: environment, bundleID: bundleID, verification: verification,
            transaction: try json(.transaction), renewalInfo: try json(.renewalInfo),
            appTransaction: try json(.appTransaction), receipt: try json(.receipt))
        try change(&draft)
        var observation = try Observation(
            SignedPayloads(
                transaction: draft.transaction, renewalInfo: draft.renewalInfo, appTransaction: draft.appTransaction,
                receipt: draft.receipt), source: draft.source, environment: draft.environment, bundleID: draft.bundleID,
            verification: draft.verification, notification: notification, claims: claims, ingestUserID: ingestUserID)
        observation.isDuplicate = isDuplicate
        observation.owner = owner
        observation.input = input
        return observation
    }

    /// A payload as a value.
    package func json(_ kind: SignedPayloadKind) throws -> JSONValue? {
        try payloads[kind].map { try JSONDocument(parsing: Array($0)).root }
    }
}
