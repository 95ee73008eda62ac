import JSON
package import Kafka

/// The position of the record that a stage made an observation of, and the observation's index
/// among the outputs.
///
/// A record that is written again after a crash has the same position, so that repetitions can be
/// distinguished from losses.
package struct InputPosition: Hashable, Sendable {
    package let partition: Int32
    package let offset: Int64
    package let index: Int

    package init(partition: Int32, offset: Int64, index: Int) {
        self.partition = partition
        self.offset = offset
        self.index = index
    }

    /// The position for an output that a stage makes of a whole record.
    package init(_ record: ConsumerRecord) {
        self.init(partition: record.topicPartition.partition, offset: record.offset, index: 0)
    }
}

extension Observation {
    /// The position of the record that the observation was made from.
    ///
    /// The position on `verified` is that of the body, which the observation keeps from there on.
    /// `nil` for a link observation, which has no input record.
    package var inputPosition: InputPosition? {
        input
            ?? source.map { source in
                InputPosition(partition: source.position.partition, offset: source.position.offset, index: source.index)
            }
    }
}

extension InputPosition {
    /// The index is that of the body's observation, which `source` holds, or 0.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("partition")
        writer.int(Int64(partition))
        writer.key("offset")
        writer.int(offset)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            partition: object.int("partition", in: 0...Int32.max),
            offset: object.int("offset", in: KafkaBounds.offsets), index: 0)
    }
}
