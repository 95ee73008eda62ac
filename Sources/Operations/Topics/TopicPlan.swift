/// One topic as the pipeline needs it.
package struct TopicPlan: Hashable, Sendable {
    package let name: String
    package let partitions: Int32
    /// Nil leaves it to the cluster's own default.
    package let replication: Int16?
    /// The topic's properties by Kafka's names.
    package let configuration: [String: String]
}
