import AppStore
import Kafka
import Records
import Settings
import Topology
import Worker

/// The workers' commits, as far as they concern dead letters.
struct StageCommits: Sendable {
    private static let deadline = Duration.seconds(15)

    let names: ReplayNames

    private var configuration: [String: String] { names.kafka }

    /// The heads of all chains; read them before the dead-letter topic, so that it holds all
    /// letters that they name.
    func heads() async throws(DeadLetterTopicError) -> [ChainName: ChainHead] {
        try await ask { admin in
            let metadata = try await admin.metadata(deadline: Self.deadline)
            var heads: [ChainName: ChainHead] = [:]
            for stage in Topology.stages {
                let topic = metadata[topic: names.topicPrefix + stage.inputTopic]
                let committed = try await admin.committedOffsets(
                    group: names.group(stage),
                    topic?.partitions ?? [],
                    deadline: Self.deadline
                )
                for (partition, commit) in committed {
                    let name = ChainName(
                        stage: stage.name,
                        topic: partition.topic,
                        partition: partition.partition
                    )
                    heads[name] = Self.head(commit, of: stage)
                }
            }
            return heads
        }
    }

    /// The ID of the cluster, as its brokers report it.
    func clusterID() async throws(DeadLetterTopicError) -> String {
        try await ask { try await $0.clusterID(deadline: Self.deadline) }
    }

    /// Nil without a commit, or if another program wrote it.
    private static func head(_ commit: CommittedOffset, of stage: StageDescription) -> ChainHead? {
        guard let offset = commit.offset,
            let metadata = CommitMetadata(commit.metadata, counting: stage.dispositions)
        else { return nil }
        return ChainHead(
            digest: metadata.chainHead,
            counted: metadata.tally.counts[.deadLettered] ?? 0,
            offset: offset,
            records: metadata.tally.total
        )
    }

    private func ask<Answer: Sendable>(
        _ body: (KafkaAdmin) async throws -> Answer
    ) async throws(DeadLetterTopicError) -> Answer {
        let admin: KafkaAdmin
        do {
            admin = try KafkaAdmin(configuration: configuration)
        } catch {
            throw DeadLetterTopicError(
                code: .configuration,
                description: "librdkafka: \(error.message)"
            )
        }
        do {
            let answer = try await body(admin)
            await admin.close()
            return answer
        } catch {
            await admin.close()
            throw DeadLetterTopicError(
                code: .unreachable,
                description: "no answer from \(configuration["bootstrap.servers"] ?? "the brokers")"
                    + " about the workers' commits: \(error)"
            )
        }
    }
}

extension ToolContext {
    /// The names of topics and groups, and Kafka's properties.
    var names: ReplayNames {
        ReplayNames(
            kafka: DeadLetterSettings.clientProperties(values),
            topicPrefix: values[KafkaSettings.topicPrefix],
            groupPrefix: values[WorkerSettings.groupPrefix]
        )
    }

    var commits: StageCommits { StageCommits(names: names) }
}
