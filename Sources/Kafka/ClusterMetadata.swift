/// What the cluster says about its brokers and topics.
package struct ClusterMetadata: Sendable, Equatable {
    package let brokerCount: Int
    package let topics: [TopicMetadata]

    package init(brokerCount: Int, topics: [TopicMetadata]) {
        self.brokerCount = brokerCount
        self.topics = topics
    }

    package subscript(topic name: String) -> TopicMetadata? {
        topics.first { $0.name == name }
    }
}
