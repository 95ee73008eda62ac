package import AppStore

/// Where a body was read from, and which of its observations this is.
///
/// It is what an auditor follows back from a row to Apple's words: topic, partition and offset of
/// the body on the raw topic, whatever stage the observation has reached since.
package struct ObservationSource: Hashable, Sendable {
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// The broker's timestamp of the raw record, UNIX milliseconds; nil when it had none.
    package var timestamp: Timestamp?
    /// Position within the body, from 0.
    package var index: Int
    /// How many observations the body holds.
    package var count: Int

    /// Whether it is the body's last observation, the one whose outcome lists what its user holds.
    package var isLast: Bool { index + 1 >= count }

    package init(
        topic: String,
        partition: Int32,
        offset: Int64,
        timestamp: Timestamp?,
        index: Int,
        count: Int
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.index = index
        self.count = count
    }
}
