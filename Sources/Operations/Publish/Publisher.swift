import JSON
package import Kafka

/// Writes bodies to a topic in order, in bounded batches, and awaits that each is acknowledged.
///
/// Two batches are under way at most: one being acknowledged while the next is gathered.
package struct Publisher {
    private static let recordsMax = 500
    private static let bytesMax = 4 * 1_048_576

    private let producer: KafkaProducer
    private var records: [ProducerRecord] = []
    private var origins: [String] = []
    private var bytes = 0
    private var underWay: (delivery: Delivery, origins: [String])?
    package private(set) var report: PublishReport

    package init(_ producer: KafkaProducer, topic: String) {
        self.producer = producer
        report = PublishReport(topic: topic)
    }

    /// Takes one record.
    ///
    /// - Parameter origin: names the body in messages, such as its file and line.
    package mutating func add(_ record: ProducerRecord, origin: String) async {
        records.append(record)
        origins.append(origin)
        bytes += record.value?.count ?? 0
        if records.count >= Self.recordsMax || bytes >= Self.bytesMax {
            await send()
        }
    }

    /// Sends what is left and waits until every record is acknowledged or has failed.
    package mutating func finish() async -> PublishReport {
        await send()
        await settle()
        return report
    }

    private mutating func send() async {
        guard !records.isEmpty else { return }
        let delivery = await producer.enqueue(records)
        await settle()
        underWay = (delivery, origins)
        records.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
        bytes = 0
    }

    private mutating func settle() async {
        guard let (delivery, origins) = underWay else { return }
        let delivered = await delivery.report()
        report.add(delivered, origins: origins, cause: producer.fatalError)
        underWay = nil
    }
}

/// The result of publishing bodies.
package struct PublishReport: Sendable {
    /// One body that the cluster did not take.
    package struct Failure: Sendable {
        package let origin: String
        package let error: KafkaError
    }

    /// How many failures are kept to be shown.
    private static let failuresMax = 20

    package let topic: String
    package private(set) var acknowledgedCount = 0
    package private(set) var failedCount = 0
    package private(set) var failures: [Failure] = []

    package init(topic: String) {
        self.topic = topic
    }

    /// Whether the cluster, not a body, is to blame for a failure.
    package private(set) var isClusterAtFault = false

    /// - Parameter cause: why the producer can do no more; nil while it can.
    mutating func add(_ report: DeliveryReport, origins: [String], cause: KafkaError?) {
        acknowledgedCount += origins.count - report.failures.count
        failedCount += report.failures.count
        for (index, error) in report.failures.sorted(by: { $0.key < $1.key }) {
            isClusterAtFault = isClusterAtFault || !error.isRecordFault
            guard failures.count < Self.failuresMax else { continue }
            failures.append(Failure(origin: origins[index], error: cause ?? error))
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("topic", topic)
            writer.member("acknowledged", acknowledgedCount)
            writer.member("failed", failedCount)
            writer.key("failures")
            writer.array { writer in
                for failure in failures {
                    writer.object { writer in
                        writer.member("origin", failure.origin)
                        writer.member("error", failure.error.name)
                    }
                }
            }
        }
        return writer.bytes
    }
}
