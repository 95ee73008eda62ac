package import Kafka

/// Records that a stage writes without an input record.
///
/// The records wait in the stage's database until the broker has acknowledged them; they are committed together with
/// the change that they announce. The loop calls the outbox from its start to its end, one call at a time, also
/// without records and without partitions. Every copy of a worker does so; the outbox must ensure that copies do not
/// write conflicting records.
package protocol Outbox: Sendable {
    /// Whether the outbox ever writes a record; otherwise it gets no producer.
    var writesRecords: Bool { get }

    /// Waits until records may be waiting: for a signal, or for a limited time.
    ///
    /// Returns within about a second, because the end of the worker waits for it.
    func waitForWork() async throws

    /// Writes the waiting records, and marks only those as written for which `deliver` has returned.
    ///
    /// An error means a fault of the infrastructure: the loop calls again after a delay, and at once after a
    /// `PartialFault`.
    func empty(_ deliver: @escaping OutboxDelivery) async throws

    /// Releases the resources of this copy, so that another copy need not wait for them.
    func close() async
}

extension Outbox { package var writesRecords: Bool { true } }

/// Writes every record in order and awaits its acknowledgement.
///
/// Throws if a record was not acknowledged; the later records were then not written either.
package typealias OutboxDelivery = @Sendable ([ProducerRecord]) async throws -> Void

/// Limits that an outbox can rely on.
package enum OutboxLimits {
    /// Maximum time for which the producer tries to write a record before the record fails.
    package static let deliveryMax = Duration.seconds(6)
}

/// The error for a record that the broker has not acknowledged.
package struct UndeliveredRecord: Error, CustomStringConvertible {
    private let topic: String
    package let error: KafkaError

    package init(_ record: ProducerRecord, _ error: KafkaError) {
        topic = record.topic
        self.error = error
    }

    /// The text includes the topic, which librdkafka's message lacks.
    package var description: String { "writing to \(topic): \(error)" }
}

/// Work in a stage's database without an input record, such as a new projection after a catalog change.
///
/// The loop runs the work from its start to its end, one run at a time, also without records and without partitions.
/// Every copy of a worker does so; the implementation ensures that copies do not do the same work at once.
package protocol Upkeep: Sendable {
    /// Waits until there may be work: for a signal, or for a limited time.
    ///
    /// Returns within about a second, because the end of the worker waits for it.
    func waitForWork() async throws

    /// Does the pending work.
    ///
    /// An error means a fault of the infrastructure: the loop calls again after a delay.
    func work() async throws

    /// Releases the resources of this copy, so that another copy need not wait for them.
    func close() async
}

/// A fault in a part of an outbox's work; only that part is delayed.
package struct PartialFault: CausedFault, CustomStringConvertible {
    package let error: any Error

    package init(_ error: any Error) { self.error = error }

    package var description: String { "\(error)" }
    package var cause: FaultCause { FaultCause(of: error) }
}
