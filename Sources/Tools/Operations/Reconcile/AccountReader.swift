package import Kafka
package import Records
package import Settings
import Topology
import Worker

/// Reads each stage's progress and counts from Kafka.
package struct AccountReader: Sendable {
    private static let deadline = Duration.seconds(30)

    private let admin: KafkaAdmin
    private let settings: SettingsValues

    /// - Parameter settings: the settings of `WorkerSettings`, including the names of topics and groups.
    package init(_ admin: KafkaAdmin, _ settings: SettingsValues) {
        self.admin = admin
        self.settings = settings
    }

    /// The stages that have an account.
    package static let stages = Topology.stages + [.deadLetterIndex]

    /// Reads the accounts of stages and of their output topics.
    ///
    /// Commits are read before the ends of topics, so that the topics contain all outputs counted
    /// in them, even while workers run.
    package func read(_ described: [StageDescription] = stages) async throws -> Reconciliation {
        let topics = try await partitions()
        let cluster = try await admin.clusterID(deadline: Self.deadline)
        var commits: [StageDescription: [TopicPartition: CommittedOffset]] = [:]
        for stage in described { commits[stage] = try await committed(stage, topics[stage.inputTopic] ?? []) }
        let marks = try await admin.listOffsets(topics.values.flatMap(\.self), deadline: Self.deadline)
        let stages = described.map { stage in
            account(
                stage, cluster, partitions: topics[stage.inputTopic] ?? [], commits: commits[stage] ?? [:], marks: marks
            )
        }
        return Reconciliation(stages: stages, flows: flows(stages, topics, marks: marks))
    }

    /// Reads the commits of a stage, and the ID of their cluster.
    func commits(of stage: StageDescription) async throws -> (
        cluster: String, commits: [TopicPartition: CommittedOffset]
    ) {
        let metadata = try await admin.metadata(deadline: Self.deadline)
        let partitions = try metadata.partitions(of: settings.topic(stage.inputTopic))
        let cluster = try await admin.clusterID(deadline: Self.deadline)
        return (cluster, try await committed(stage, partitions))
    }

    private func committed(_ stage: StageDescription, _ partitions: [TopicPartition]) async throws -> [TopicPartition:
        CommittedOffset]
    { try await admin.committedOffsets(group: settings.group(stage), partitions, deadline: Self.deadline) }

    /// Reads the partitions of every topic, by the topic's name without the prefix.
    private func partitions() async throws -> [String: [TopicPartition]] {
        let metadata = try await admin.metadata(deadline: Self.deadline)
        var partitions: [String: [TopicPartition]] = [:]
        for topic in TopicLayout.flow + [Topic.deadLetter] {
            partitions[topic] = try metadata.partitions(of: settings.topic(topic))
        }
        return partitions
    }

    private func account(
        _ stage: StageDescription, _ cluster: String, partitions: [TopicPartition],
        commits: [TopicPartition: CommittedOffset], marks: [TopicPartition: Watermarks]
    ) -> StageAccount {
        StageAccount(
            stage: stage, group: settings.group(stage), topic: settings.topic(stage.inputTopic),
            partitions: partitions.map { partition in
                let held = marks[partition].map { $0.low..<max($0.low, $0.high) }
                return PartitionAccount(
                    partition: partition.partition, held: held ?? 0..<0,
                    standing: PartitionAccount.Standing(commits[partition], of: stage, in: cluster))
            })
    }

    private func flows(
        _ stages: [StageAccount], _ topics: [String: [TopicPartition]], marks: [TopicPartition: Watermarks]
    ) -> [Flow] {
        func sum(_ topic: String, _ count: (Watermarks) -> Int64) -> Int64 {
            (topics[topic] ?? []).reduce(0) { $0 + (marks[$1].map(count) ?? 0) }
        }
        let forwards = stages.compactMap { account in
            account.stage.outputTopic.map { topic in
                Flow(
                    writers: [account.stage], topic: settings.topic(topic), counted: account.forwarded,
                    given: sum(topic) { $0.high }, held: sum(topic) { $0.high - $0.low },
                    isCountedFromStart: account.isCountedFromStart)
            }
        }
        let refusing = stages.filter(\.stage.refusesRecords)
        let deadLetters = Flow(
            writers: refusing.map(\.stage), topic: settings.topic(Topic.deadLetter),
            counted: refusing.reduce(0) { $0 + ($1.counts[.deadLettered] ?? 0) },
            given: sum(Topic.deadLetter) { $0.high }, held: sum(Topic.deadLetter) { $0.high - $0.low },
            isCountedFromStart: refusing.allSatisfy(\.isCountedFromStart))
        return forwards + [deadLetters]
    }
}

extension ClusterMetadata {
    func partitions(of topic: String) throws(CommandError) -> [TopicPartition] {
        guard let found = self[topic: topic], found.error == nil else {
            throw CommandError(
                ExitCode.unavailable,
                "topic \(topic) is missing or not authorized: create it with "
                    + "'\(PipelineTool.name) topics', or give its prefix")
        }
        return found.partitions
    }
}

extension PartitionAccount.Standing {
    fileprivate init(_ commit: CommittedOffset?, of stage: StageDescription, in cluster: String) {
        guard let commit, let offset = commit.offset else {
            self = .notBegun
            return
        }
        let text = commit.metadata
        if let metadata = CommitMetadata(text, counting: stage.dispositions, in: cluster) {
            self = .counted(committed: offset, tally: metadata.tally, statement: metadata.statement)
        } else {
            self = .withoutTally(committed: offset)
        }
    }
}
