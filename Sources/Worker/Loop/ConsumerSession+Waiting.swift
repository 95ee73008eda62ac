import AppStore
import Kafka
import Platform
import Synchronization

/// How long records wait, for the metrics.
extension ConsumerSession {
    /// Sets the gauges of what waits at this moment; from any thread.
    func showLag() {
        let now = WallClock.milliseconds
        let instant = ContinuousClock.now
        let partitions = assignment.withLock { $0.partitions.keys }
        let ends = partitions.reduce(into: [TopicPartition: Watermarks]()) { ends, partition in
            ends[partition] = consumer.cachedWatermarks(partition)
        }
        let waiting = assignment.withLock { $0.waiting(before: ends, at: now) }
        loop.metrics.waiting.show(waiting, now: now, instant)
    }

    /// Observes how old records and bodies are that are settled now.
    func observeAges(_ processed: ProcessedBatch) {
        let now = WallClock.milliseconds
        var records: [Double] = []
        var bodies: [Double] = []
        records.reserveCapacity(processed.records.count)
        for index in processed.records.indices {
            guard let written = processed.records[index].record.timestampMilliseconds else {
                continue
            }
            records.append(Double(WallClock.age(of: written, at: now)) / 1_000)
            guard processed.records[index].verdict.outputCount(to: configuration.nextTopic) == 0
            else { continue }
            let begun = processed.records[index].verdict.bodyWrittenAt?.milliseconds ?? written
            bodies.append(Double(WallClock.age(of: begun, at: now)) / 1_000)
        }
        loop.metrics.waiting.settled(records: records, bodies: bodies)
    }
}

/// The unsettled records of a worker's partitions.
struct WaitingRecords: Sendable {
    var records: Int64 = 0
    /// When the oldest of them was written, at the earliest; UNIX milliseconds.
    var oldest: Int64?
    /// When the oldest of those that were read was read.
    var readAt: ContinuousClock.Instant?
}

extension Assignment {
    /// Adds the records before the partitions' ends, as far as brokers have reported these.
    ///
    /// - Parameter now: UNIX milliseconds.
    mutating func waiting(
        before ends: [TopicPartition: Watermarks],
        at now: Int64
    ) -> WaitingRecords {
        var waiting = WaitingRecords()
        for partition in partitions.keys {
            let (records, oldest, readAt) =
                update(partition) { $0.waiting(before: ends[partition], at: now) } ?? (0, nil, nil)
            waiting.records += records
            waiting.oldest = [waiting.oldest, oldest].compactMap(\.self).min()
            waiting.readAt = [waiting.readAt, readAt].compactMap(\.self).min()
        }
        return waiting
    }
}

extension PartitionState {
    /// - Parameters:
    ///   - ends: nil if the brokers have reported none.
    ///   - now: UNIX milliseconds.
    mutating func waiting(
        before ends: Watermarks?,
        at now: Int64
    ) -> (records: Int64, oldest: Int64?, readAt: ContinuousClock.Instant?) {
        let lag = ends.map { max(0, $0.high - max(settled ?? 0, $0.low)) } ?? 0
        guard let first = spans.first else {
            guard lag > 0 else {
                writtenAfter = now
                return (0, nil, nil)
            }
            // Not read yet: written after the last that was settled, and after the moment at which
            // nothing waited.
            let oldest = writtenAfter ?? now
            writtenAfter = oldest
            return (lag, oldest, nil)
        }
        return (max(lag, 1), first.writtenAt ?? writtenAfter, first.readAt)
    }
}
