import AppStore
import OpenSSL
package import Telemetry

/// The metrics of questions about the revocation of certificates.
package final class RevocationMetrics: Sendable {
    private let questions: MetricFamily<Counter>
    private let certificates: MetricFamily<Gauge>
    private let passed: MetricFamily<Counter>

    package init(_ registry: MetricsRegistry) {
        questions = registry.counter("verify_revocation_questions", "OCSP requests, by result.", labels: ["result"])
        certificates = registry.gauge(
            "verify_revocation_certificates", "Certificates in use, by revocation status.", labels: ["status"])
        for label in ["good", "revoked", "unknown", "unanswerable"] { certificates[label].set(0) }
        passed = registry.counter(
            "verify_revocation_unknown_bodies",
            "Bodies accepted while the revocation status of a certificate was unknown.")
    }

    func asked(_ result: Result<OCSPAnswer, OCSPError>) {
        switch result {
        case .success(let answer): questions[Self.label(answer.status)].increment()
        case .failure(let fault): questions[fault.code.rawValue].increment()
        }
    }

    func passedUnknown(_ count: Int) { passed.increment(by: count) }

    func show(_ statuses: [SHA256Digest: RevocationSnapshot.Status]) {
        var counts = ["good": 0, "revoked": 0, "unknown": 0, "unanswerable": 0]
        for status in statuses.values { counts[Self.label(status), default: 0] += 1 }
        for (label, count) in counts { certificates[label].set(count) }
    }

    private static func label(_ status: OCSPAnswer.Status) -> String {
        switch status {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        }
    }

    private static func label(_ status: RevocationSnapshot.Status) -> String {
        switch status {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        case .unanswerable: "unanswerable"
        }
    }
}
