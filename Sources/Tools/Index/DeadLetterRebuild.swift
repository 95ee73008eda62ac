import AppStore
import DeadLetters
import Kafka
import Platform
import Postgres
import Records
import Settings
import Store

/// Removes all rows of the index, and sets its consumer group back to the topic's beginning.
///
/// Keeps the recorded actions and the states that they gave the letters.
struct DeadLetterRebuild: Sendable {
    private static let deadline = Duration.seconds(30)

    let topic: DeadLetterTopic
    let group: String
    let client: PostgresClient

    /// - Parameter isRemoving: whether to remove the rows; otherwise they are only counted.
    /// - Returns: the number of rows that were removed, or would be.
    func run(isRemoving: Bool) async throws -> Int {
        try await DeadLetterIndexTable.progress(on: client).requireOwner(topic)
        let count = Int(try await DeadLetterCounts.count(DeadLetterQuery(), on: client))
        guard isRemoving else { return count }
        // The group comes first, because the broker refuses the change while a copy of the index runs.
        try await rewind(to: topic.watermarks().mapValues(\.low))
        try await DeadLetterIndexTable.removeAll(on: client)
        return count
    }

    private func rewind(to offsets: [Int32: Int64]) async throws {
        let properties = topic.configuration.merging(["group.id": group]) { $1 }
        let consumer = try KafkaConsumer(configuration: properties)
        var commits: [TopicPartition: OffsetCommit] = [:]
        for (partition, offset) in offsets {
            let partition = TopicPartition(topic: topic.name, partition: partition)
            // An account that begins after offset 0 is a finding unless a statement explains the earlier offsets.
            let statement = AccountStatement(
                at: Timestamp(milliseconds: WallClock.milliseconds), by: "dead-letter index --rebuild",
                reason: "retention has removed the letters before")
            let metadata = CommitMetadata(tally: StageTally(began: offset), statement: offset > 0 ? statement : nil)
            commits[partition] = OffsetCommit(offset: offset, metadata: metadata.text)
        }
        let outcome = await consumer.commit(commits, deadline: Self.deadline)
        await consumer.close(deadline: Self.deadline)
        guard let failure = outcome.failures.values.first else { return }
        throw CommandError(
            ExitCode.unavailable,
            "group \(group) was not set back (\(failure)): stop the index, and run --rebuild again")
    }
}
