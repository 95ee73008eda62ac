import Kafka
package import Settings
import Store

extension [DeadLetterIndexTable.Progress] {
    /// The next offset to index of each partition of a topic.
    package func nextOffsets(of topic: String) -> [Int32: Int64] {
        let held = filter { $0.topic == topic }.map { ($0.partition, $0.nextOffset) }
        return Dictionary(held, uniquingKeysWith: Swift.max)
    }

    /// Throws if the index belongs to another topic.
    package func requireOwner(_ topic: DeadLetterTopic) throws(CommandError) {
        guard let other = first(where: { $0.topic != topic.name }) else { return }
        throw CommandError(
            ExitCode.configuration,
            "the database holds the index of \(other.topic), not of \(topic.name): use a "
                + "separate database or schema for each (database.schema)")
    }
}

extension [Int32: Watermarks] {
    /// The number of offsets in the partitions from the given ones on.
    func count(from next: [Int32: Int64]) -> Int64 {
        reduce(0) { count, mark in
            count + Swift.max(0, mark.value.high - Swift.max(mark.value.low, next[mark.key] ?? 0))
        }
    }
}
