/// What one poll has brought.
package struct PollResult: Sendable {
    /// In order per partition.
    package var records: [ConsumerRecord] = []
    /// In the order in which they happened.
    ///
    /// Records that came before an event may stand beside it.
    package var events: [RebalanceEvent] = []
    package var errors: [PartitionError] = []

    package var isEmpty: Bool { records.isEmpty && events.isEmpty && errors.isEmpty }
}
