import Kafka

/// Reads new records of the dead-letter topic, each once.
struct LetterFollower {
    let scan: TopicScan
    /// The next offset to read of each partition; one without an entry was added later and is read
    /// from its start.
    private(set) var next: [TopicPartition: Int64]

    /// Visits every unvisited record below these ends.
    ///
    /// Throws if the topic ends before an offset that was read: it was recreated, and refusals
    /// written since may be lost.
    mutating func read(to ends: [TopicPartition: Int64], _ visit: (ConsumerRecord) -> Void) async throws {
        var ranges: [TopicPartition: Range<Int64>] = [:]
        for (partition, end) in ends {
            let start = next[partition, default: 0]
            guard start <= end else {
                throw ReplayError(
                    .interrupted,
                    "\(partition) ends at \(end), before the offset \(start) that was read before: "
                        + "the topic was recreated; abandon the replay")
            }
            ranges[partition] = start..<end
        }
        try await scan.read(ranges) { $0.forEach(visit) }
        next.merge(ends) { $1 }
    }
}
