package import AppStore
package import OpenSSL
import Synchronization
package import Telemetry
package import Topology

/// Asks responders in the background whether the certificates in use are revoked.
///
/// A question is due once per certificate and interval, and is asked when a batch arrives. An idle
/// worker asks nothing, and no batch waits here for an answer.
package final class RevocationLookup: Sendable {
    private let policy: RevocationPolicy
    private let book: Mutex<RevocationBook>
    private let asker = OCSPAsker()
    private let metrics: RevocationMetrics
    private let log: Log
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - predecessor: the lookup before a reload, whose answers are kept.
    ///   - now: the wall clock.
    package init(
        _ policy: RevocationPolicy, metrics: RevocationMetrics, log: Log, predecessor: RevocationLookup? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.policy = policy
        self.metrics = metrics
        self.log = log
        self.now = now
        var book = RevocationBook(interval: policy.interval)
        if let predecessor { book.resume(predecessor.book.withLock { $0 }) }
        self.book = Mutex(book)
    }

    /// Adds the certificates of a chain, except its root.
    package func add(_ chain: [Certificate]) {
        book.withLock { book in
            for (certificate, issuer) in zip(chain, chain.dropFirst()) {
                book.add(RevocationBook.Subject(certificate, issuedBy: issuer, below: chain.last))
            }
        }
    }

    /// Starts the questions that are due, and returns the statuses known so far.
    package func refresh() -> RevocationSnapshot {
        let now = now()
        let (due, statuses) = book.withLock { ($0.due(at: now), $0.statuses(at: now)) }
        for subject in due { Task { await ask(about: subject) } }
        metrics.show(statuses)
        return RevocationSnapshot(isHard: policy.isHard, statuses: statuses)
    }

    /// Returns the error that makes records wait, with the fault of the last question.
    func wait(for certificates: Set<SHA256Digest>) -> RevocationUnknown {
        let faults = book.withLock { book in certificates.sorted().map { book.fault(of: $0) } }
        let fault = faults.lazy.compactMap { $0 }.first
        return RevocationUnknown(certificates: certificates, fault: fault)
    }

    private func ask(about subject: RevocationBook.Subject) async {
        let clock = now
        let result = await asker.ask(
            about: subject, deadlineSeconds: policy.deadlineSeconds, now: { clock().wholeSeconds })
        let fingerprint = subject.certificate.fingerprint
        metrics.asked(result)
        let change = book.withLock { $0.record(result, about: fingerprint, at: clock()) }
        log(change, of: fingerprint)
    }

    private func log(_ change: RevocationBook.Change, of fingerprint: SHA256Digest) {
        var metadata: LogMetadata = ["certificate.sha256": .string(fingerprint.hex)]
        switch change {
        case .none: break
        case .revoked(let since):
            let text = Timestamp(milliseconds: since * 1_000).description
            metadata.append("certificate.revoked", .string(text))
            log.critical("certificate revoked, refusing what it signed since", metadata)
        case .reinstated: log.warning("certificate no longer revoked", metadata)
        case .fault(let fault):
            metadata.append("error", .string(fault.description))
            log.warning("certificate status unavailable, retrying", metadata)
        }
    }
}
