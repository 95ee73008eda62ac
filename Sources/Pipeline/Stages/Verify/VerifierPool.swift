package import AppStore
import Synchronization

/// Verifiers that are lent to one thread at a time, so that each keeps its warm chain cache.
///
/// The pool makes a verifier when all are lent, so there are as many as were ever in use at once.
package final class VerifierPool: Sendable {
    private let configuration: VerifierConfiguration
    private let idle = Mutex<[Loan]>([])

    package init(configuration: VerifierConfiguration) { self.configuration = configuration }

    /// Lends a verifier while `body` runs, with the given revocation statuses.
    package func withVerifier<Result>(knowing revocations: RevocationSnapshot? = nil, _ body: (Verifier) -> Result)
        -> Result
    {
        let loan = idle.withLock { $0.popLast() } ?? Loan(configuration)
        defer { idle.withLock { $0.append(loan) } }
        loan.verifier.revocations = revocations
        return body(loan.verifier)
    }

    /// Sendable because the task that removed it from `idle` is the only one that has it.
    private final class Loan: @unchecked Sendable {
        let verifier: Verifier

        init(_ configuration: VerifierConfiguration) { verifier = Verifier(configuration: configuration) }
    }
}
