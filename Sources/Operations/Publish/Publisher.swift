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
        report.add(await delivery.report(), origins: origins)
        underWay = nil
    }
}
