import Kafka

/// The runs of records of one partition in a batch, each as a range of indexes.
///
/// A batch has few of them, so work for each partition is done a few times and not for each record.
struct PartitionRuns: Sequence, IteratorProtocol {
    private var rest: ArraySlice<ConsumerRecord>

    init(of records: ArraySlice<ConsumerRecord>) {
        rest = records
    }

    mutating func next() -> Range<Int>? {
        guard !rest.isEmpty else { return nil }
        let start = rest.startIndex
        let partition = rest[start].topicPartition
        var end = start + 1
        while end < rest.endIndex, rest[end].topicPartition == partition { end += 1 }
        rest = rest[end...]
        return start..<end
    }
}
