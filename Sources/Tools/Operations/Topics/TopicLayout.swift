import Records
package import Settings
import Topology

/// The layout of all topics of one pipeline, from the few numbers that an operator chooses.
package struct TopicLayout: Hashable, Sendable {
    /// The topics that stages read, in the order of the flow, without the prefix.
    package static let flow = Topology.stages.map(\.inputTopic)
    /// Other topics that workers write.
    package static let written = [Topic.deadLetter, Topic.outcomes] + Topology.stages.flatMap(\.otherTopics)

    package var prefix: String
    /// Number of partitions of each topic; more partitions allow more copies of a worker.
    ///
    /// The history of a purchase stays in one partition.
    package var partitions: Int32
    /// Number of copies of each partition.
    ///
    /// `nil` for as many as fit the cluster, up to three.
    package var replication: Int16?
    /// Time for which the topics of the flow keep a record.
    ///
    /// `nil` for no limit.
    package var retentionMilliseconds: Int64? = 7 * 86_400_000
    /// Time for which the topic keeps a dead letter.
    ///
    /// `nil` for no limit.
    package var deadLetterRetentionMilliseconds: Int64? = 400 * 86_400_000
    /// Maximum bytes of all dead letters on disk, in each copy.
    ///
    /// `nil` for no bound. The oldest dead letters above it are deleted, so that posted forgeries
    /// fill a bounded part of a disk.
    package var deadLetterBytesMax: Int? = 32 << 30
    /// The retention options that an operator gave; no other retention is lowered.
    var givenOptions: Set<String> = []
    /// Retention of outcomes; a request that waits for one times out long before.
    private static let outcomesRetentionMilliseconds: Int64 = 86_400_000
    /// The codec of topics that only one stage writes; `producer` keeps the producer's choice, lz4.
    package var compression = "producer"

    package init(prefix: String = "storekit.", partitions: Int32 = 8) {
        self.prefix = prefix
        self.partitions = partitions
    }

    /// Returns the layout with a replication that the cluster's brokers allow.
    package func fitting(brokerCount: Int) -> TopicLayout {
        var layout = self
        layout.replication = replication ?? Int16(clamping: min(max(brokerCount, 1), 3))
        return layout
    }

    package var plans: [TopicPlan] {
        (Self.flow + Self.written).map { topic in
            switch topic {
            case Topic.deadLetter: deadLetterPlan
            case Topic.outcomes: plan(topic, retention: Self.outcomesRetentionMilliseconds)
            case Topic.current: plan(topic, retention: nil)
            default: plan(topic, retention: retentionMilliseconds, option: "retention")
            }
        }
    }

    private var deadLetterPlan: TopicPlan {
        var letters = plan(
            Topic.deadLetter, retention: deadLetterRetentionMilliseconds, option: "dead-letter-retention")
        letters.properties["retention.bytes"] = "-1"
        letters.bytesMax = deadLetterBytesMax
        if givenOptions.contains("dead-letter-size") { letters.given.insert("retention.bytes") }
        return letters
    }

    private func plan(_ name: String, retention: Int64?, option: String? = nil) -> TopicPlan {
        let need = TopicNeed(prefix + name, Topic.requiredSettings(of: name))
        var properties = need.settings
        properties["retention.ms"] = String(retention ?? -1)
        properties["compression.type"] = properties["compression.type"] ?? compression
        // An acknowledged record must survive the loss of one broker, and the loss of one broker
        // must not stop the pipeline.
        if let replication, replication >= 3 { properties["min.insync.replicas"] = String(replication - 1) }
        return TopicPlan(
            need: need, partitions: partitions, replication: replication,
            given: option.map(givenOptions.contains) == true ? ["retention.ms"] : [], properties: properties)
    }
}

/// The planned properties of a topic.
package struct TopicPlan: Hashable, Sendable {
    package let need: TopicNeed
    package let partitions: Int32
    /// Number of copies of each partition.
    ///
    /// `nil` if the cluster decides.
    package let replication: Int16?
    /// The retentions that an operator requested, by Kafka's names.
    fileprivate(set) var given: Set<String>
    /// Maximum bytes of all partitions together.
    ///
    /// `nil` for no bound.
    fileprivate(set) var bytesMax: Int?
    fileprivate(set) var properties: [String: String]

    package var name: String { need.topic }

    private static let segmentBytesMin = 16 << 20
    private static let segmentBytesMax = 1 << 30

    /// The new topic's properties by Kafka's names.
    package var configuration: [String: String] { configuration(partitions: partitions) }

    /// Returns the properties planned for an existing topic.
    ///
    /// Omits a retention that the topic exceeds and that no operator asked to lower, and the size
    /// of segments, which depends on the retention.
    ///
    /// - Parameter found: the topic's present properties.
    func configuration(keeping found: [String: String], partitions: Int32) -> [String: String] {
        func limit(_ text: String?) -> Int64 { text.flatMap { Int64($0) }.map { $0 < 0 ? .max : $0 } ?? 0 }
        var planned = configuration(partitions: partitions)
        for retention in Set(["retention.ms", "retention.bytes"]).subtracting(given)
        where limit(found[retention]) > limit(planned[retention]) {
            planned[retention] = nil
            if retention == "retention.bytes" { planned["segment.bytes"] = nil }
        }
        return planned
    }

    private func configuration(partitions: Int32) -> [String: String] {
        guard let bytesMax else { return properties }
        // Kafka's limit is per partition, and Kafka keeps one segment more than configured.
        let partition = bytesMax / max(Int(partitions), 1)
        let segment = min(max(partition / 8, Self.segmentBytesMin), Self.segmentBytesMax)
        return properties.merging(["retention.bytes": String(partition), "segment.bytes": String(segment)]) { $1 }
    }
}
