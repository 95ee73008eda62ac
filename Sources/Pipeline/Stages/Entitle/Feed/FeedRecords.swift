import AppStore
import Kafka

/// The records of one batch.
struct FeedRecords {
    var records: [ProducerRecord] = []
    /// Number of records that omit something and state this.
    var incompleteCount = 0
    /// Number of records that cannot be written because the user's ID alone is too long.
    var unwritableCount = 0

    /// - Parameter value: the record's bytes, and whether they are complete; `nil` if nothing fits.
    mutating func append(_ value: (bytes: [UInt8], isWhole: Bool)?, topic: String, userID: Identifier) {
        guard let value else {
            unwritableCount += 1
            return
        }
        records.append(ProducerRecord(topic: topic, key: Array(userID.text.utf8), value: value.bytes))
        incompleteCount += value.isWhole ? 0 : 1
    }

    mutating func appendTombstone(topic: String, userID: Identifier) {
        records.append(ProducerRecord(topic: topic, key: Array(userID.text.utf8)))
    }
}
