import Kafka
import Operations
import Settings
import Simulation

/// Publishes the demo's bodies, no faster than the cluster can store them.
///
/// The mock keeps the newest megabytes of a partition and drops the rest even if it was not read,
/// so unsettled bodies must stay well below that size.
struct DemoPublishing {
    private let topic: String
    private let unsettledBytesMax: Int
    private var publisher: Publisher
    /// Total bytes published up to and including each body.
    private var totals: [Int] = []
    private var settledCount = 0

    /// - Parameter unsettledBytesMax: maximum bytes that may wait for the stages.
    init(_ producer: KafkaProducer, topic: String, unsettledBytesMax: Int) {
        self.topic = topic
        self.unsettledBytesMax = unsettledBytesMax
        publisher = Publisher(producer, topic: topic)
    }

    var count: Int { totals.count }

    /// Whether the next body must wait until more bodies are settled.
    var mustWait: Bool {
        let settledBytes = settledCount == 0 ? 0 : totals[settledCount - 1]
        return (totals.last ?? 0) - settledBytes > unsettledBytesMax
    }

    /// Updates the number of settled bodies from the records that wait for any stage.
    mutating func note(_ reconciliation: Reconciliation) {
        let waiting = reconciliation.stages.reduce(0) { $0 + $1.lag }
        let sent = publisher.report.acknowledgedCount
        settledCount = max(settledCount, sent - Int(clamping: waiting))
    }

    mutating func add(_ item: DemoItem) async {
        let record = ProducerRecord(item, topic: topic)
        totals.append((totals.last ?? 0) + record.payloadBytes)
        await publisher.add(record, origin: BodyOrigin(item.kind.rawValue))
        if mustWait { _ = await publisher.finish() }
    }

    /// Waits until all bodies are acknowledged.
    mutating func finish() async throws(CommandError) {
        let report = await publisher.finish()
        guard let failure = report.failures.first else { return }
        throw CommandError(
            ExitCode.unavailable,
            "\(report.failedCount) bodies were not published, the first (\(failure.origin)) "
                + "because of \(failure.error)")
    }
}

extension ProducerRecord {
    fileprivate var payloadBytes: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { bytes, header in
            bytes + header.nameBytes.count + (header.value?.count ?? 0)
        }
    }
}
