package import AppStore
package import Telemetry

/// The metrics that only `verify-worker` has.
package final class VerifyMetrics: Sendable {
    private let observations: MetricFamily<Counter>
    private let ignoredBodies: MetricFamily<Counter>
    private let recordedKinds: Counter
    private let ignoredKinds: Counter
    private let malformedFields: MetricFamily<Counter>
    private let futureDates: MetricFamily<Counter>
    private let ignoredIngestUsers: Counter
    private let refusedHeaders: MetricFamily<Counter>
    let revocations: RevocationMetrics
    private let testRoots: MetricFamily<Gauge>
    private let chainHits: Counter
    private let chainMisses: Counter
    private let chainsCached: MetricFamily<Gauge>
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: the wall clock; later signed dates are accepted and counted.
    package init(_ registry: MetricsRegistry, now: @escaping @Sendable () -> Timestamp) {
        self.now = now
        observations = registry.counter("verify_observations", "Observations forwarded, by content.", labels: ["kind"])
        ignoredBodies = registry.counter(
            "verify_ignored_bodies", "Genuine bodies without a purchase, by reason.", labels: ["reason"])
        let unknownKinds = registry.counter(
            "verify_unknown_kinds",
            "Genuine JWS of a kind unknown to this version, recorded under their app or ignored.", labels: ["result"])
        (recordedKinds, ignoredKinds) = (unknownKinds["recorded"], unknownKinds["ignored"])
        malformedFields = registry.counter(
            "verify_malformed_fields",
            "Optional fields of a wrong type or value, carried as signed and otherwise ignored.")
        futureDates = registry.counter(
            "verify_future_signed_dates", "Observations whose signed date is later than this machine's clock.")
        ignoredIngestUsers =
            registry.counter(
                "verify_ignored_ingest_users",
                "Headers user-id ignored: repeated, or not 1 to 255 bytes of UTF-8 without control characters.")[]
        refusedHeaders = registry.counter(
            "verify_refused_headers",
            "Headers correlation-id and traceparent dropped: too long, with control characters, or a second one.")
        let lookups = registry.counter(
            "verify_chain_lookups", "JWS whose certificate chain was known (hit), or had to be verified (miss).",
            labels: ["result"])
        (chainHits, chainMisses) = (lookups["hit"], lookups["miss"])
        chainsCached = registry.gauge(
            "verify_chains_cached", "Verified certificate chains that a thread's verifier knows.")
        revocations = RevocationMetrics(registry)
        testRoots = registry.gauge(
            "verify_test_roots_in_production", "Apps with a custom root trusted for Production; 0 unless it is a test.")
    }

    func verifying(by configuration: VerifierConfiguration) {
        testRoots.set(configuration.appsWithTestRootInProduction.count)
    }

    func lookedUp(found: Int, missed: Int, cached: Int) {
        chainHits.increment(by: found)
        chainMisses.increment(by: missed)
        chainsCached.set(cached)
    }

    func ignoredIngestUser() { ignoredIngestUsers.increment() }

    func ignored(_ reason: VerifiedBody.IgnoreReason) { ignoredBodies[reason.rawValue].increment() }

    /// Counts JWS that were ignored in accepted bodies.
    func ignoredKinds(_ count: Int) { ignoredKinds.increment(by: count) }

    func refusedHeaders(_ count: Int) {
        guard count > 0 else { return }
        refusedHeaders[].increment(by: count)
    }

    func verified(_ items: [VerifiedItem]) {
        let now = now()
        for item in items {
            observations[item.kind].increment()
            if item.notification?.fields.newBody != nil { recordedKinds.increment() }
            if item.malformedFields > 0 { malformedFields.increment(by: item.malformedFields) }
            if item.verification.signedDate > now { futureDates.increment() }
        }
    }
}

extension VerifiedItem {
    /// The label of the item's kind, from a bounded set.
    fileprivate var kind: String {
        if receipt != nil { return "receipt_record" }
        if transaction != nil { return "transaction" }
        if renewalInfo != nil { return "renewal_info" }
        if appTransaction != nil { return "app_transaction" }
        return "notification"
    }
}
