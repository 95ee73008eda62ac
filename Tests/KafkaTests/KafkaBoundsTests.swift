import Kafka
import Testing
import TestSupport

/// Numbers from brokers and producers at the ends of their type.
struct KafkaBoundsTests {
    private static let partition = TopicPartition(topic: "raw", partition: 0)

    @Test(arguments: HostileNumber.all) func `a record's offset and time are within their bounds`(number: Int64) {
        let record = ConsumerRecord(topicPartition: Self.partition, offset: number, timestampMilliseconds: number)
        #expect(KafkaBounds.offsets.contains(record.offset))
        let time = record.timestampMilliseconds
        #expect(time == nil ? number < 0 : KafkaBounds.times.contains(time ?? 0))
    }

    @Test(arguments: HostileNumber.all) func `commits, ends and watermarks are within their bounds`(number: Int64) {
        let committed = CommittedOffset(offset: number, metadata: "").offset
        #expect(committed == nil ? number < 0 : KafkaBounds.offsets.contains(committed ?? 0))
        let end = PartitionEnd(partition: Self.partition, offset: number)
        #expect(KafkaBounds.offsets.contains(end.offset))
        for other in HostileNumber.all {
            let marks = Watermarks(low: number, high: other)
            #expect(KafkaBounds.offsets.contains(marks.low))
            #expect(KafkaBounds.offsets.contains(marks.high) && marks.low <= marks.high)
        }
    }

    @Test func `what is within the bounds stays as it is`() {
        let record = ConsumerRecord(topicPartition: Self.partition, offset: 7, timestampMilliseconds: 1_767_225_600_000)
        #expect(record.offset == 7 && record.timestampMilliseconds == 1_767_225_600_000)
        #expect(CommittedOffset(offset: 0, metadata: "").offset == 0)
        #expect(Watermarks(low: 3, high: 9) == Watermarks(low: 3, high: 9))
    }
}
