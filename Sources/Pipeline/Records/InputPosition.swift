import JSON
package import Kafka

/// The position of the input record of a stage's observation, and the observation's index among the outputs.
///
/// A record that is written again after a crash has the same position, which distinguishes duplicates from losses.
package struct InputPosition: Hashable, Sendable {
    package let partition: Int32
    package let offset: Int64
    package let index: Int

    package init(partition: Int32, offset: Int64, index: Int) {
        self.partition = partition
        self.offset = offset
        self.index = index
    }

    /// Makes the position of an output from a whole record.
    package init(_ record: ConsumerRecord) {
        self.init(partition: record.topicPartition.partition, offset: record.offset, index: 0)
    }
}

extension Observation {
    /// The position of the record from which the observation was made.
    ///
    /// On `verified`, this is the position of the body, which later stages keep. `nil` for a link observation, which
    /// has no input record.
    package var inputPosition: InputPosition? {
        input
            ?? source.map { source in
                InputPosition(partition: source.position.partition, offset: source.position.offset, index: source.index)
            }
    }
}

extension InputPosition {
    /// Writes the position; its index is that of the body's observation, from `source`, or 0.
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
