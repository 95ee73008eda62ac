import AppStore
import Kafka
import OpenSSL
import Records
import Settings
import Synchronization
import Telemetry

/// Watches dead letters for attacks: counts signs of an attack by source, and reports groups of
/// similar letters that grow, in the log and a gauge.
final class RefusalWatch: Sendable {
    private struct State {
        var groups = RefusalGroups()
        var sources: Set<String> = []
    }

    /// A producer chooses its name and may change it each time, so further ones count as `other`.
    private static let sourcesMax = 50
    private static let nameLengthMax = 80
    private static let unnamed = "unnamed"
    private static let other = "other"

    private let signs: MetricFamily<Counter>
    private let largest: MetricFamily<Gauge>
    private let log: Log
    private let state = Mutex(State())

    init(_ registry: MetricsRegistry, _ log: Log) {
        self.log = log
        signs = registry.counter(
            "attack_sign_dead_letters",
            "Dead letters that may be an attack, by sign and by the producer that they name.",
            labels: ["sign", "source"]
        )
        for sign in AttackSign.allCases {
            signs[sign.rawValue, Self.unnamed].increment(by: 0)
        }
        largest = registry.gauge(
            "dead_letter_group_records",
            "Dead letters in the largest group of similar ones within a minute, by reason.",
            labels: ["reason"]
        )
        registry.beforeExposition { [weak self] in self?.show() }
    }

    func count(_ refusal: Refusal, of record: ConsumerRecord) {
        let producer = record.headers.producerName.map {
            Printable.line($0, lengthMax: Self.nameLengthMax)
        }
        if let sign = refusal.reason.attackSign {
            signs[sign.rawValue, source(producer)].increment()
        }
        let group = RefusalGroups.Group(
            reason: refusal.reason,
            certificate: refusal.chain.first?.fingerprint.hex,
            bundleID: refusal.unverified.bundleID,
            topic: record.topicPartition.topic,
            producer: producer
        )
        guard let growth = state.withLock({ $0.groups.count(group, now: .now) }) else { return }
        report(growth)
    }

    private func source(_ producer: String?) -> String {
        guard let producer else { return Self.unnamed }
        return state.withLock { state in
            if state.sources.contains(producer) { return producer }
            guard state.sources.count < Self.sourcesMax else { return Self.other }
            state.sources.insert(producer)
            return producer
        }
    }

    private func report(_ growth: RefusalGroups.Growth) {
        var metadata: LogMetadata = [
            "dead_letter.reason": .string(growth.group.reason.rawValue),
            "dead_letter.count": .int(growth.count),
            "dead_letter.count_before": .int(growth.countBefore),
            "kafka.topic": .string(growth.group.topic),
        ]
        if let certificate = growth.group.certificate {
            metadata.append("dead_letter.certificate", .string(certificate))
        }
        if let bundleID = growth.group.bundleID {
            metadata.append(
                "dead_letter.unverified_bundle_id",
                .string(Printable.line(bundleID, lengthMax: Self.nameLengthMax))
            )
        }
        if let producer = growth.group.producer {
            metadata.append("dead_letter.source", .string(producer))
        }
        log.warning("similar dead letters increase within a minute", metadata)
    }

    private func show() {
        let counts = state.withLock { $0.groups.largest(now: .now) }
        for reason in RefusalReason.allCases {
            largest[reason.rawValue].set(counts[reason] ?? 0)
        }
    }
}
