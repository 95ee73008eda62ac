import Kafka

/// A judged batch whose outputs are on their way.
struct DeliveredBatch: Sendable {
    var judged: JudgedBatch
    var outputs: [JudgedBatch.Output]
    let delivery: Delivery
}
