package import Kafka

/// Records that a stage writes without having been given one.
///
/// They wait in the stage's database, committed together with what they announce, until the broker
/// has acknowledged them. The loop gives the occasions from its start to its end, one at a time,
/// also while no record comes and while the worker owns no partition. Every copy of a worker does
/// so: an outbox sees to it that they do not write at cross purposes.
package protocol Outbox: Sendable {
    /// Whether it ever writes a record; without, no producer is made for it.
    var writesRecords: Bool { get }

    /// Waits until there may be something to write: for a signal, or for a while.
    ///
    /// Returns within about a second: the end of the worker waits for it.
    func waitForWork() async throws

    /// Writes what waits, and marks as written only what `deliver` has returned for.
    ///
    /// Throwing means a fault of the infrastructure: it is run again after a while, and at once
    /// after a `PartialFault`.
    func empty(_ deliver: @escaping OutboxDelivery) async throws

    /// Gives up what this copy holds, so that another need not wait for it.
    func close() async
}

extension Outbox { package var writesRecords: Bool { true } }

/// Writes and awaits the acknowledgement of every record, in their order; throws where one was not
/// acknowledged, and then the records after it have not been written either.
package typealias OutboxDelivery = @Sendable ([ProducerRecord]) async throws -> Void

/// Bounds that an outbox can rely on.
package enum OutboxLimits {
    /// Longest time for which the producer tries to write a record before it gives the record back.
    package static let deliveryMax = Duration.seconds(6)
}

/// A record that the broker has not acknowledged.
package struct UndeliveredRecord: Error, CustomStringConvertible {
    private let topic: String
    package let error: KafkaError

    package init(_ record: ProducerRecord, _ error: KafkaError) {
        topic = record.topic
        self.error = error
    }

    /// Names the topic, which librdkafka's own words do not.
    package var description: String { "writing to \(topic): \(error)" }
}

/// Work in a stage's database that no record asks for, such as projecting again by another catalog.
///
/// The loop runs it from its start to its end, one run at a time, also while no record
/// comes and while the worker owns no partition. Every copy of a worker does so; the
/// implementation ensures that they do not do the same at once.
package protocol Upkeep: Sendable {
    /// Waits until there may be something to do: for a signal, or for a while.
    ///
    /// Returns within about a second: the end of the worker waits for it.
    func waitForWork() async throws

    /// Does what there is to do.
    ///
    /// Throwing means a fault of the infrastructure: it is run again after a while.
    func work() async throws

    /// Gives up what this copy holds, so that another need not wait for it.
    func close() async
}

/// A fault of a part of an outbox's work, which delays that part by itself: the rest goes on.
package struct PartialFault: CausedFault, CustomStringConvertible {
    package let error: any Error

    package init(_ error: any Error) { self.error = error }

    package var description: String { "\(error)" }
    package var cause: FaultCause { FaultCause(of: error) }
}
