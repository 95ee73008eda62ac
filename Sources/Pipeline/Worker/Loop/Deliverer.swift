import Kafka
import Records
import Settings
import Telemetry

/// The producer of a worker, recreated after a fatal error.
actor Deliverer {
    private let properties: [String: String]
    private let handlers: KafkaHandlers
    private let log: Log
    private var producer: KafkaProducer
    /// Instant of the last fatal error of each code, so that a series of equal errors is logged once.
    private var fatalErrors: [KafkaError.Code: ContinuousClock.Instant] = [:]

    init(properties: [String: String], handlers: KafkaHandlers, log: Log) throws(KafkaError) {
        self.properties = properties
        self.handlers = handlers
        self.log = log
        producer = try Self.made(properties, handlers)
    }

    /// Enqueues records in order; the returned delivery reports on them later.
    nonisolated func enqueue(_ records: [ProducerRecord]) async -> Delivery { await usable().enqueue(records) }

    private func usable() -> KafkaProducer {
        guard let error = producer.fatalError else { return producer }
        report(error)
        do { replace(by: try madeAnew()) } catch {
            // The same properties were valid before; the old producer reports every record as failed.
            log.error("producer recreation failed, retrying", ["error": "\(error)"])
        }
        return producer
    }

    /// Returns a new producer with the same properties, and with the current certificates.
    nonisolated func madeAnew() throws(KafkaError) -> KafkaProducer { try Self.made(properties, handlers) }

    private static func made(_ properties: [String: String], _ handlers: KafkaHandlers) throws(KafkaError)
        -> KafkaProducer
    { try KafkaProducer(configuration: properties, isUncompressed: { Topic.isUncompressed($0) }, handlers: handlers) }

    /// Replaces the producer; records that the former producer has not delivered within a second are reported as
    /// failed.
    func replace(by other: KafkaProducer) {
        let old = producer
        producer = other
        Task { _ = await old.close(deadline: .seconds(1)) }
    }

    /// Logs an error once a minute: a producer without the right to write fails each time it is recreated.
    private func report(_ error: KafkaError) {
        let isNew = fatalErrors[error.code].map { $0 + .seconds(60) < .now } ?? true
        fatalErrors[error.code] = .now
        log(isNew ? .error : .debug, "producer failed, recreating it", ["error": "\(error)"])
    }

    /// Closes the producer; records without an acknowledgement at the deadline are reported as purged.
    func close(deadline: Duration) async { await producer.close(deadline: deadline) }
}

/// Logging of librdkafka's messages at debug level: its faults come in floods, and the loop logs the relevant ones
/// once.
enum KafkaLogging {
    static func handlers(_ log: Log, client: String, onError: @escaping @Sendable (KafkaError) -> Void) -> KafkaHandlers
    {
        KafkaHandlers(
            onLog: { line in
                log.debug(
                    "librdkafka",
                    [
                        "kafka.client": .string(client), "kafka.facility": .string(line.facility),
                        "kafka.message": .string(line.message),
                    ])
            }, onError: onError)
    }
}
