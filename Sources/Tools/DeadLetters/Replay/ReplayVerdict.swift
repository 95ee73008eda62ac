package import AppStore
import Records

/// The verdict of today's program on a dead letter before it is sent again.
package enum ReplayVerdict: Equatable, Sendable {
    case accepted
    /// A genuine body without a purchase.
    case ignored
    case refused(reason: String, detail: String)
    /// The worker of this name decides, with its database.
    case worker(String)
    /// The verifier could not be asked, for this reason.
    case unasked(String)
    /// The letter will not be sent, for this reason.
    case unsendable(Unsendable)

    /// The name in snake case, the same in text, JSON and counts.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .ignored: "ignored"
        case .refused: "refused"
        case .worker: "worker_decides"
        case .unasked: "unasked"
        case .unsendable: "unsendable"
        }
    }

    /// The explanation beside the name; empty without one.
    package var detail: String {
        switch self {
        case .accepted, .ignored: ""
        case .refused(let reason, let detail): "\(reason): \(detail)"
        case .worker(let name): "\(name) decides"
        case .unasked(let why): why
        case .unsendable(let why): why.description
        }
    }
}

/// The verifier with today's settings, or the reason for its absence.
package enum ReplayVerifier: Sendable {
    case settings(VerifierConfiguration, checksRevocation: Bool)
    case unavailable(String)

    /// A note on the verdicts for the operator.
    package var note: String? {
        switch self {
        case .settings(_, checksRevocation: false): nil
        case .settings(_, checksRevocation: true):
            "verify-worker also asks for the revocation of certificates, which is not asked here"
        case .unavailable(let why): "the verifier was not asked: \(why)"
        }
    }

    /// Returns a function that gives the verdict on a body.
    ///
    /// Only one thread may call it, because the verifier caches chains.
    func asked() -> (ReplayedOriginal) -> ReplayVerdict {
        switch self {
        case .unavailable(let why): return { $0.stage.readsObservations ? .worker($0.stage.program) : .unasked(why) }
        case .settings(let configuration, _):
            let verifier = Verifier(configuration: configuration)
            return { original in
                switch verifier.verify(original.value) {
                case .success(.items), .success(.undetermined):
                    let stage = original.stage
                    return stage.readsObservations ? .worker(stage.program) : .accepted
                case .success(.ignored): return .ignored
                case .failure(let refusal): return .refused(reason: refusal.reason.rawValue, detail: refusal.detail)
                }
            }
        }
    }
}
