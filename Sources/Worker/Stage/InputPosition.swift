import JSON
package import Kafka
import Records

/// Where the input stands that a stage's output was made of, in the output's header `input`.
///
/// `3/1200/0`: partition and offset in the topic that the stage reads, and which of the record's
/// outputs it is. A record that is written again after a crash has the same position, so that
/// repetitions can be distinguished from losses.
package struct InputPosition: Hashable, Sendable {
    package let partition: Int32
    package let offset: Int64
    package let index: Int

    package init(partition: Int32, offset: Int64, index: Int) {
        self.partition = partition
        self.offset = offset
        self.index = index
    }

    /// The position that a record was written with; nil for one that answers no input record.
    package init?(_ record: ConsumerRecord) {
        let header = record.headers.last { $0.nameBytes == RecordHeader.input }
        guard let value = header?.value else { return nil }
        let parts = String(decoding: value, as: UTF8.self)
            .split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
            let index = Int(parts[2]), partition >= 0, offset >= 0, index >= 0
        else { return nil }
        self.init(partition: partition, offset: offset, index: index)
    }

    /// Has the outputs name the record they were made of; a header that an output has copied from
    /// its input is replaced.
    static func mark(_ verdicts: inout [Verdict], of records: [ConsumerRecord]) {
        for place in verdicts.indices {
            for index in verdicts[place].outputs.indices {
                let position = InputPosition(
                    partition: records[place].topicPartition.partition,
                    offset: records[place].offset,
                    index: index
                )
                verdicts[place].outputs[index].headers.set(position.header)
            }
        }
    }

    private var header: KafkaHeader {
        var value: [UInt8] = []
        value.reserveCapacity(32)
        DecimalDigits.append(UInt64(partition), to: &value)
        value.append(UInt8(ascii: "/"))
        DecimalDigits.append(UInt64(offset), to: &value)
        value.append(UInt8(ascii: "/"))
        DecimalDigits.append(UInt64(index), to: &value)
        return KafkaHeader(nameBytes: RecordHeader.input, value: value)
    }
}
