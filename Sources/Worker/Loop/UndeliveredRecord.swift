import Kafka

/// A record that the broker has not acknowledged.
struct UndeliveredRecord: Error, CustomStringConvertible {
    let topic: String
    let error: KafkaError

    init(_ record: ProducerRecord, _ error: KafkaError) {
        topic = record.topic
        self.error = error
    }

    /// Names the topic, which librdkafka's own words do not.
    var description: String { "writing to \(topic): \(error)" }
}
