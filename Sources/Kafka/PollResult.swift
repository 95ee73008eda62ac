/// What one poll has brought.
package struct PollResult: Sendable {
    /// In order per partition.
    package var records: [ConsumerRecord] = []
    /// In the order in which they happened.
    ///
    /// Records that came before an event may stand beside it.
    package var events: [RebalanceEvent] = []
    package var errors: [PartitionError] = []
    /// Partitions that were read to their end; all records below each end were returned before, or
    /// stand in `records`.
    package var ends: [PartitionEnd] = []

    package var isEmpty: Bool {
        records.isEmpty && events.isEmpty && errors.isEmpty && ends.isEmpty
    }
}
