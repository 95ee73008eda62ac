import AppStore
import Kafka

/// The records of one batch.
struct FeedRecords {
    var records: [ProducerRecord] = []
    /// Records that omit something, and say so.
    var incompleteCount = 0
    /// Records that cannot be written because the user's ID alone is too long.
    var unwritableCount = 0

    /// - Parameter value: nil if nothing fits; with whether it is whole.
    mutating func append(_ value: (bytes: [UInt8], isWhole: Bool)?, topic: String, userID: Identifier) {
        guard let value else {
            unwritableCount += 1
            return
        }
        records.append(ProducerRecord(topic: topic, key: Array(userID.utf8), value: value.bytes))
        incompleteCount += value.isWhole ? 0 : 1
    }
}
