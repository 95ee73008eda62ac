package import Kafka

/// The original inside a dead letter: what a replay sends, byte for byte.
package struct DeadLetterOriginal: Sendable, Equatable {
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [KafkaHeader]

    package init(_ record: ConsumerRecord) {
        key = record.key
        value = record.value
        headers = record.headers.compactMap(\.movedBack)
    }
}
