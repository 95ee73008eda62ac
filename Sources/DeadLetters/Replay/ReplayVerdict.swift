package import AppStore
import Records
import Worker

/// What today's program says about a dead letter before it is sent again.
package enum ReplayVerdict: Equatable, Sendable {
    /// The verifier accepts the body.
    case accepted
    /// A genuine body without a purchase.
    case ignored
    /// The verifier refuses it again.
    case refused(reason: String, detail: String)
    /// The named worker decides it, with what the database knows.
    case worker(String)
    /// Nobody could be asked, and why.
    case unasked(String)
    /// It will not be sent, and why.
    case unsendable(Unsendable)

    /// One word in snake case, the same in text, JSON and counts.
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

    /// What there is to say beside the name; empty where there is nothing.
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

/// The verifier with today's settings, or why there is none.
package enum ReplayVerifier: Sendable {
    case settings(VerifierConfiguration, checksRevocation: Bool)
    case unavailable(String)

    /// What an operator has to know of the verdicts.
    package var note: String? {
        switch self {
        case .settings(_, checksRevocation: false): nil
        case .settings(_, checksRevocation: true):
            "verify-worker also asks for the revocation of certificates, which is not asked here"
        case .unavailable(let why): "the verifier was not asked: \(why)"
        }
    }

    /// Asks about bodies; not for two threads at once, as the verifier keeps chains.
    func asked() -> (ReplayedOriginal) -> ReplayVerdict {
        switch self {
        case .unavailable(let why):
            return { $0.stage.readsObservations ? .worker($0.stage.program) : .unasked(why) }
        case .settings(let configuration, _):
            let verifier = Verifier(configuration: configuration)
            return { original in
                guard !original.stage.readsObservations else {
                    return .worker(original.stage.program)
                }
                switch verifier.verify(original.value) {
                case .success(.items), .success(.undetermined): return .accepted
                case .success(.ignored): return .ignored
                case .failure(let refusal):
                    return .refused(
                        reason: refusal.reason.rawValue,
                        detail: refusal.detail
                    )
                }
            }
        }
    }
}
