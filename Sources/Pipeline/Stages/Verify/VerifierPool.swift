package import AppStore
import Synchronization

/// A pool of verifiers, each lent to one thread at a time, so that it keeps its warm chain cache.
///
/// The pool creates a verifier when all are lent, so it keeps as many as were ever in use at once.
package final class VerifierPool: Sendable {
    private let configuration: VerifierConfiguration
    private let idle = Mutex<[Loan]>([])

    package init(configuration: VerifierConfiguration) { self.configuration = configuration }

    /// Runs `body` with a verifier that has the given revocation statuses.
    package func withVerifier<Result>(knowing revocations: RevocationSnapshot? = nil, _ body: (Verifier) -> Result)
        -> Result
    {
        let loan = idle.withLock { $0.popLast() } ?? Loan(configuration)
        defer { idle.withLock { $0.append(loan) } }
        loan.verifier.revocations = revocations
        return body(loan.verifier)
    }

    /// A lent verifier; sendable because only the task that removed it from `idle` uses it.
    private final class Loan: @unchecked Sendable {
        let verifier: Verifier

        init(_ configuration: VerifierConfiguration) { verifier = Verifier(configuration: configuration) }
    }
}
