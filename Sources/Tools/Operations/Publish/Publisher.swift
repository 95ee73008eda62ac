import JSON
package import Kafka
import Platform

/// The position of a body among the inputs of a command.
package struct BodyOrigin: Hashable, Sendable, CustomStringConvertible {
    let name: String
    /// The file's index among the operands.
    let input: Int
    /// The line number from 1.
    ///
    /// `nil` for a whole file.
    let line: Int?

    package init(_ name: String, input: Int = 0, line: Int? = nil) {
        self.name = name
        self.input = input
        self.line = line
    }

    package var description: String { line.map { "\(name):\($0)" } ?? name }
}

/// Writes bodies to a topic in order, in bounded batches, and waits for each acknowledgement.
///
/// At most two batches are in memory: one waits for acknowledgements while the next is filled.
package struct Publisher {
    private static let recordsMax = 500
    private static let bytesMax = 4 * 1_048_576

    private let producer: KafkaProducer
    private var records: [ProducerRecord] = []
    private var origins: [BodyOrigin] = []
    private var bytes = 0
    private var underWay: (delivery: Delivery, origins: [BodyOrigin])?
    package private(set) var report: PublishReport

    /// - Parameter total: number of bodies in the whole input; `nil` if unknown.
    package init(_ producer: KafkaProducer, topic: String, total: Int? = nil) {
        self.producer = producer
        report = PublishReport(topic: topic, total: total)
    }

    package mutating func add(_ record: ProducerRecord, origin: BodyOrigin) async {
        records.append(record)
        origins.append(origin)
        bytes += record.value?.count ?? 0
        if records.count >= Self.recordsMax || bytes >= Self.bytesMax { await send() }
    }

    /// Sends the last batch and waits until every record is acknowledged or has failed.
    package mutating func finish() async -> PublishReport {
        await send()
        await settle()
        return report
    }

    /// Waits for the batch in flight, and discards the batch that is not yet sent.
    ///
    /// - Parameter next: the first body that was not added.
    mutating func stop(before next: BodyOrigin?) async -> PublishReport {
        await settle()
        report.stop(before: origins.first ?? next)
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
        let wait = producer.wait()
        let delivered = await delivery.report()
        if delivered.isComplete { wait?.answered() }
        report.add(delivered, origins: origins, cause: producer.fatalError)
        underWay = nil
    }
}

/// The result of publishing bodies.
package struct PublishReport: Sendable {
    /// A body that the cluster did not accept.
    package struct Failure: Sendable {
        package let origin: BodyOrigin
        package let error: KafkaError
    }

    /// Maximum failures that are stored for the report.
    private static let failuresMax = 20

    package let topic: String
    package private(set) var acknowledgedCount = 0
    package private(set) var failedCount = 0
    package private(set) var failures: [Failure] = []

    /// Number of bodies in the whole input.
    ///
    /// `nil` if unknown.
    let total: Int?
    /// The first body that the cluster would accept but has not stored.
    ///
    /// `nil` if it has stored all of them.
    private(set) var missing: BodyOrigin?

    var triedCount: Int { acknowledgedCount + failedCount }

    /// Number of bodies that were not sent.
    ///
    /// `nil` if unknown.
    var untriedCount: Int? { missing == nil ? 0 : total.map { max(0, $0 - triedCount) } }

    mutating func stop(before next: BodyOrigin?) { if triedCount != total { missing = missing ?? next } }

    /// Whether the cluster, not a body, caused a failure.
    package private(set) var isClusterAtFault = false

    /// - Parameter cause: the error that stopped the producer; `nil` while it works.
    mutating func add(_ report: DeliveryReport, origins: [BodyOrigin], cause: KafkaError?) {
        acknowledgedCount += origins.count - report.failures.count
        failedCount += report.failures.count
        for (index, error) in report.failures.sorted(by: { $0.key < $1.key }) {
            if !error.isRecordFault {
                isClusterAtFault = true
                missing = missing ?? origins[index]
            }
            guard failures.count < Self.failuresMax else { continue }
            failures.append(Failure(origin: origins[index], error: cause ?? error))
        }
    }

    /// - Parameter command: the command that publishes the missing bodies; `nil` if none is missing.
    func json(goingOnWith command: String?) -> JSONContent {
        [
            "topic": topic, "acknowledged": acknowledgedCount, "failed": failedCount, "untried": untriedCount,
            "continue_with": command,
            "failures": failures.map { failure -> JSONContent in
                ["origin": failure.origin.description, "error": failure.error.name]
            },
        ]
    }
}
