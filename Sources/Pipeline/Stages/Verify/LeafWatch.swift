package import AppStore
package import OpenSSL
import Synchronization
package import Telemetry

/// Watches the leaf certificates in use: logs new ones, and warns before one expires.
package final class LeafWatch: Sendable {
    private struct Leaf {
        let end: Int64
        let observations: Counter
        /// The newest signed date of the leaf, in seconds since 1970.
        var lastSigned = Int64.min
    }

    /// Maximum leaves; if there are more, the one that signed longest ago is forgotten.
    ///
    /// Apple has used three in five years.
    package static let leavesMax = 32
    /// Time after its last signature for which a leaf counts as in use.
    package static let inUseSeconds: Int64 = 7 * 86_400
    /// Time before the expiry of a leaf in use from which it is reported.
    package static let foresightSeconds: Int64 = 60 * 86_400

    private let leaves = Mutex<[SHA256Digest: Leaf]>([:])
    private let observations: MetricFamily<Counter>
    private let ends: MetricFamily<Gauge>
    private let log: Log

    /// - Parameter now: the wall clock.
    package init(_ registry: MetricsRegistry, log: Log, now: @escaping @Sendable () -> Timestamp) {
        self.log = log
        observations = registry.counter(
            "verify_leaf_observations", "Observations forwarded, by the leaf certificate that signed them.",
            labels: ["leaf"])
        ends = registry.gauge(
            "verify_leaf_end_timestamp_seconds", "End of a leaf certificate's validity, in UNIX time.", labels: ["leaf"]
        )
        let expiring = registry.gauge(
            "verify_leaves_expiring", "Leaf certificates that signed within the last 7 days and end within 60.")
        registry.beforeExposition { [weak self] in
            guard let self else { return }
            expiring.set(expiringCount(at: now().wholeSeconds))
        }
    }

    /// Records a newly used chain, which begins with its leaf.
    package func add(_ chain: [Certificate]) {
        guard let certificate = chain.first else { return }
        let isNew = leaves.withLock { leaves in
            guard leaves[certificate.fingerprint] == nil else { return false }
            makeRoom(&leaves)
            let label = certificate.fingerprint.hex
            ends[label].set(certificate.validity.upperBound)
            leaves[certificate.fingerprint] = Leaf(
                end: certificate.validity.upperBound, observations: observations[label])
            return true
        }
        guard isNew else { return }
        log.notice(
            "new leaf certificate in use",
            [
                "certificate.sha256": .string(certificate.fingerprint.hex),
                "certificate.not_before": .string(Self.date(certificate.validity.lowerBound)),
                "certificate.not_after": .string(Self.date(certificate.validity.upperBound)),
                "certificate.issuers": .array(chain.dropFirst().map { .string($0.fingerprint.hex) }),
            ])
    }

    /// Counts the items that each leaf has signed, and records its newest signed date.
    package func signed(_ items: [VerifiedItem]) {
        leaves.withLock { leaves in
            for item in items {
                let date = item.verification.signedDate.wholeSeconds
                guard let leaf = leaves[item.verification.leaf] else { continue }
                leaf.observations.increment()
                if date > leaf.lastSigned { leaves[item.verification.leaf]?.lastSigned = date }
            }
        }
    }

    private func makeRoom(_ leaves: inout [SHA256Digest: Leaf]) {
        guard leaves.count >= Self.leavesMax,
            let oldest = leaves.min(by: { $0.value.lastSigned < $1.value.lastSigned })?.key
        else { return }
        leaves[oldest] = nil
        observations.remove(oldest.hex)
        ends.remove(oldest.hex)
    }

    private func expiringCount(at now: Int64) -> Int {
        leaves.withLock { leaves in
            leaves.values.count { leaf in
                leaf.lastSigned >= now - Self.inUseSeconds && leaf.end < now + Self.foresightSeconds
            }
        }
    }

    private static func date(_ seconds: Int64) -> String { Timestamp(milliseconds: seconds * 1_000).description }
}
