import AppStore
import Kafka

/// What is written of one batch.
struct FeedRecords {
    var records: [ProducerRecord] = []
    /// Records that do not hold everything they should, and say so.
    var incompleteCount = 0
    /// What no record could hold, because its user's ID alone is too long.
    var unwritableCount = 0

    /// - Parameter value: nil where nothing fits; whether it is whole.
    mutating func append(
        _ value: (bytes: [UInt8], isWhole: Bool)?,
        topic: String,
        userID: Identifier
    ) {
        guard let value else {
            unwritableCount += 1
            return
        }
        records.append(ProducerRecord(topic: topic, key: Array(userID.utf8), value: value.bytes))
        incompleteCount += value.isWhole ? 0 : 1
    }
}
