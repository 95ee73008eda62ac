/// A topic to be created.
package struct NewTopic: Sendable, Equatable {
    package let name: String
    package let partitions: Int
    /// -1 takes the broker's default.
    package let replication: Int
    /// The broker's topic settings, such as `retention.ms`.
    package let configuration: [String: String]

    package init(
        name: String,
        partitions: Int,
        replication: Int = -1,
        configuration: [String: String] = [:]
    ) {
        self.name = name
        self.partitions = partitions
        self.replication = replication
        self.configuration = configuration
    }
}
