package import Kafka

/// A record that the broker has not acknowledged.
package struct UndeliveredRecord: Error, CustomStringConvertible {
    private let topic: String
    package let error: KafkaError

    package init(_ record: ProducerRecord, _ error: KafkaError) {
        topic = record.topic
        self.error = error
    }

    /// Names the topic, which librdkafka's own words do not.
    package var description: String { "writing to \(topic): \(error)" }
}
