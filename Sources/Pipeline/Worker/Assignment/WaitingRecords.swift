import Kafka

/// The unsettled records of a worker's partitions.
struct WaitingRecords: Sendable {
    var records: Int64 = 0
    /// Lower bound of the time at which the oldest record was written, in UNIX milliseconds.
    var oldest: Int64?
    /// Instant at which the oldest record in flight was read.
    var readAt: ContinuousClock.Instant?
}

extension PartitionState {
    /// - Parameters:
    ///   - ends: the partition's ends; `nil` if the brokers have reported none.
    ///   - now: the time in UNIX milliseconds.
    mutating func waiting(before ends: Watermarks?, at now: Int64) -> WaitingRecords {
        let lag = ends.map { max(0, $0.high - max(settled ?? 0, $0.low)) } ?? 0
        guard let first = spans.first else {
            guard lag > 0 else {
                writtenAfter = now
                return WaitingRecords()
            }
            // The record is unread: it was written after the last settled record, and after the moment at which no
            // record was waiting.
            let oldest = writtenAfter ?? now
            writtenAfter = oldest
            return WaitingRecords(records: lag, oldest: oldest)
        }
        return WaitingRecords(records: max(lag, 1), oldest: first.writtenAt ?? writtenAfter, readAt: first.readAt)
    }
}
