import JSON
package import Kafka

/// What became of the bodies that were published.
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

    mutating func add(_ report: DeliveryReport, origins: [String]) {
        acknowledgedCount += origins.count - report.failures.count
        failedCount += report.failures.count
        for (index, error) in report.failures.sorted(by: { $0.key < $1.key }) {
            isClusterAtFault = isClusterAtFault || !error.isRecordFault
            guard failures.count < Self.failuresMax else { continue }
            failures.append(Failure(origin: origins[index], error: error))
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
