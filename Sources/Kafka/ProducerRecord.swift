/// One record to be written; its timestamp is the time of writing.
package struct ProducerRecord: Sendable, Equatable {
    package var topic: String
    /// Nil leaves the choice to the partitioner: by key, or any where there is none.
    package var partition: Int32?
    package var key: [UInt8]?
    /// Nil writes a tombstone, `[]` an empty value.
    package var value: [UInt8]?
    package var headers: [KafkaHeader]

    package init(
        topic: String,
        partition: Int32? = nil,
        key: [UInt8]? = nil,
        value: [UInt8]? = nil,
        headers: [KafkaHeader] = []
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
    }
}
