import AppStore
import Kafka
package import Records
import Settings
import Topology

/// The workers' commits, as far as they concern dead letters.
struct StageCommits: Sendable {
    private static let deadline = Duration.seconds(15)

    private static let subject = "the workers' commits"

    let names: ReplayNames

    /// The heads of all chains.
    ///
    /// The dead-letter topic must be read after them, so that it holds all letters that they name.
    func heads() async throws(DeadLetterTopicError) -> [ChainName: ChainHead] {
        try await KafkaAdmin.ask(names.kafka, about: Self.subject) { admin in
            let metadata = try await admin.metadata(deadline: Self.deadline)
            var heads: [ChainName: ChainHead] = [:]
            for stage in Topology.stages {
                let topic = metadata[topic: names.topicPrefix + stage.inputTopic]
                let committed = try await admin.committedOffsets(
                    group: names.group(stage), topic?.partitions ?? [], deadline: Self.deadline)
                for (partition, commit) in committed {
                    let name = ChainName(stage: stage.name, topic: partition.topic, partition: partition.partition)
                    heads[name] = Self.head(commit, of: stage)
                }
            }
            return heads
        }
    }

    /// The ID of the cluster, as its brokers report it.
    func clusterID() async throws(DeadLetterTopicError) -> String {
        try await KafkaAdmin.ask(names.kafka, about: Self.subject) { admin in
            try await admin.clusterID(deadline: Self.deadline)
        }
    }

    /// The chain's head from a stage's commit.
    ///
    /// `nil` without a commit, or if another program wrote it.
    private static func head(_ commit: CommittedOffset, of stage: StageDescription) -> ChainHead? {
        guard let offset = commit.offset, let metadata = CommitMetadata(commit.metadata, counting: stage.dispositions)
        else { return nil }
        return ChainHead(
            digest: metadata.chainHead, counted: metadata.tally.counts[.deadLettered] ?? 0, offset: offset,
            records: metadata.tally.total)
    }
}

extension ToolContext {
    /// The names of topics and groups, and Kafka's properties.
    var names: ReplayNames {
        ReplayNames(
            kafka: DeadLetterSettings.clientProperties(values), topicPrefix: values[KafkaSettings.topicPrefix],
            groupPrefix: values[KafkaSettings.groupPrefix])
    }

    /// The consumer group of a stage.
    package func group(_ stage: StageDescription) -> String { names.group(stage) }

    var commits: StageCommits { StageCommits(names: names) }
}
