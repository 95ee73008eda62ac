import Kafka
import Settings

extension SettingsValues {
    /// Commits offsets for a group without joining it; the broker refuses this while the group has members.
    func commit(_ commits: [TopicPartition: OffsetCommit], forGroup group: String) async throws {
        guard !commits.isEmpty else { return }
        let consumer = try KafkaConsumer(configuration: kafkaConfiguration.merging(["group.id": group]) { $1 })
        let outcome = await consumer.commit(commits, deadline: .seconds(30))
        await consumer.close(deadline: .seconds(30))
        guard let failure = outcome.failures.values.first else { return }
        throw CommandError(
            ExitCode.unavailable,
            "nothing was committed for group \(group) (\(failure)): stop its workers, wait for "
                + "kafka.session_timeout if they are static members, and run it again")
    }
}
