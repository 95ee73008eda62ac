package import Kafka
package import Simulation

extension ProducerRecord {
    /// Creates the record of a body of the demo, as an ingestion service writes it.
    package init(_ item: DemoItem, topic: String) {
        self.init(
            topic: topic, key: item.key, value: item.value,
            headers: item.headers.map { header in KafkaHeader(name: header.name, value: header.value) })
    }
}
