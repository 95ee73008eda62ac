import Records
import Topology

/// All topics of one pipeline, from the few numbers that an operator chooses.
package struct TopicLayout: Hashable, Sendable {
    /// The greatest record of a topic: a body of 1 MiB, its headers, and an observation's head.
    package static let recordBytesMax = 2 * 1_048_576
    /// A dead letter is a record at that limit, and the headers that say why.
    package static let deadLetterRecordBytesMax = 3 * 1_048_576

    /// The topics that stages read, in the order of the flow, without the prefix.
    package static let flow = Topology.stages.map(\.inputTopic)
    /// Other topics that workers write.
    package static let written =
        [Topic.deadLetter, Topic.outcomes] + Topology.stages.flatMap(\.otherTopics)

    package var prefix: String
    /// One purchase's history stays in one partition; more of them allow more copies of a worker.
    package var partitions: Int32
    /// Nil is as many as fit the cluster, up to three.
    package var replication: Int16?
    /// How long the topics of the flow keep a record; nil for no limit.
    package var retentionMilliseconds: Int64? = 7 * 86_400_000
    /// How long the topic keeps a dead letter; nil for no limit.
    package var deadLetterRetentionMilliseconds: Int64? = 400 * 86_400_000
    /// How much all dead letters together take on disk, in each copy; nil for no bound.
    ///
    /// Above it the oldest are deleted: posted forgeries fill a bounded part of a disk.
    package var deadLetterBytesMax: Int? = 32 << 30
    /// The request that waits for an outcome has long timed out.
    private static let outcomesRetentionMilliseconds: Int64 = 86_400_000
    /// `producer` keeps what the writers chose, which is lz4 for ours.
    package var compression = "producer"

    package init(prefix: String = "storekit.", partitions: Int32 = 8) {
        self.prefix = prefix
        self.partitions = partitions
    }

    /// The same with a replication that the cluster can make.
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
            case Topic.raw: rawPlan
            // The newest record of each user stays, whatever its age.
            case Topic.current: plan(topic, retention: nil, cleanup: "compact")
            default: plan(topic, retention: retentionMilliseconds)
            }
        }
    }

    private var rawPlan: TopicPlan {
        var raw = plan(Topic.raw, retention: retentionMilliseconds)
        // The clock of the broker: with the writer's, a wrong time empties the topic by retention
        // before it is read, and a chosen one decides which of two claims came first.
        raw.configuration["message.timestamp.type"] = "LogAppendTime"
        return raw
    }

    private var deadLetterPlan: TopicPlan {
        var letters = plan(
            Topic.deadLetter,
            bytesMax: Self.deadLetterRecordBytesMax,
            retention: deadLetterRetentionMilliseconds
        )
        // Kafka counts by partition, and keeps one segment more than is configured.
        let partition = deadLetterBytesMax.map { $0 / Int(partitions) }
        letters.configuration["retention.bytes"] = String(partition ?? -1)
        if let partition {
            let segment = min(max(partition / 8, Self.segmentBytesMin), Self.segmentBytesMax)
            letters.configuration["segment.bytes"] = String(segment)
        }
        return letters
    }

    private static let segmentBytesMin = 16 << 20
    private static let segmentBytesMax = 1 << 30

    private func plan(
        _ name: String,
        bytesMax: Int = Self.recordBytesMax,
        retention: Int64?,
        cleanup: String = "delete"
    ) -> TopicPlan {
        var configuration = [
            "max.message.bytes": String(bytesMax),
            "retention.ms": String(retention ?? -1),
            "compression.type": compression,
            "cleanup.policy": cleanup,
            // A replica that lags may never lead: it would drop records that were acknowledged.
            "unclean.leader.election.enable": "false",
        ]
        // An acknowledged record has to survive the loss of one broker, and one broker that is
        // down must not stop the pipeline.
        if let replication, replication >= 3 {
            configuration["min.insync.replicas"] = String(replication - 1)
        }
        return TopicPlan(
            name: prefix + name,
            partitions: partitions,
            replication: replication,
            configuration: configuration
        )
    }
}

/// One topic as the pipeline needs it.
package struct TopicPlan: Hashable, Sendable {
    package let name: String
    package let partitions: Int32
    /// Nil if the cluster decides.
    package let replication: Int16?
    /// The topic's properties by Kafka's names.
    package fileprivate(set) var configuration: [String: String]
}
