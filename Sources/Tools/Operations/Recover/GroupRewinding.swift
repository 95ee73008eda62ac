import AppStore
import Kafka
import Records
import Settings
import Worker

/// Where a group is set back to.
struct GroupRewind {
    let group: String
    /// The new offsets of the partitions that are set back.
    let offsets: [TopicPartition: Int64]
    /// How many offsets lie between there and what was committed.
    let recordCount: Int64
}

/// Sets groups back to an instant, or to the beginning of what their topics hold.
struct GroupRewinding {
    private static let deadline = Duration.seconds(30)

    let settings: SettingsValues
    /// Nil for the beginning.
    let instant: Timestamp?

    /// Plans the offsets that a stage's group is set back to.
    ///
    /// Leaves out partitions without a commit and those whose commit lies before.
    func plan(_ stage: StageDescription, _ admin: KafkaAdmin) async throws -> GroupRewind {
        let metadata = try await admin.metadata(deadline: Self.deadline)
        let partitions = try metadata.partitions(of: settings.topic(stage.inputTopic))
        let group = settings.group(stage)
        let committed = try await admin.committedOffsets(
            group: group,
            partitions,
            deadline: Self.deadline
        )
        let marks = try await admin.listOffsets(partitions, deadline: Self.deadline)
        let written = try await since(partitions, admin)
        var offsets: [TopicPartition: Int64] = [:]
        var count: Int64 = 0
        for partition in partitions {
            guard let known = committed[partition]?.offset, let mark = marks[partition] else {
                continue
            }
            // Where nothing was written since, nothing has to be read again.
            let wanted = instant == nil ? mark.low : written[partition] ?? known
            let offset = max(wanted, mark.low)
            guard offset < known else { continue }
            offsets[partition] = offset
            count += known - offset
        }
        return GroupRewind(group: group, offsets: offsets, recordCount: count)
    }

    private func since(
        _ partitions: [TopicPartition],
        _ admin: KafkaAdmin
    ) async throws -> [TopicPartition: Int64] {
        guard let instant else { return [:] }
        return try await admin.offsets(
            partitions,
            atMilliseconds: instant.milliseconds,
            deadline: Self.deadline
        )
    }

    /// Commits without the counts, which no longer are of what was read.
    func commit(_ rewind: GroupRewind) async throws {
        let commits = rewind.offsets.mapValues { OffsetCommit(offset: $0, metadata: "") }
        try await settings.commit(commits, forGroup: rewind.group)
    }
}
