import Kafka

/// A judged batch whose outputs are on their way.
struct DeliveredBatch: Sendable {
    var judged: JudgedBatch
    var outputs: [JudgedBatch.Output]
    let delivery: Delivery
    /// What its outputs hold in memory.
    let outputBytes: Int
}
