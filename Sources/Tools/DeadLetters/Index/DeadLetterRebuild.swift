package import JSON
import Kafka
import Postgres
package import Settings
package import Store

/// Builds the index again from the topic, and swaps it with the one in use.
///
/// Reads without a group, beside the indexer if that runs. Readers see the former index until the
/// new one is complete. Actions stay as they are; decisions about letters wait while the difference
/// is written.
struct DeadLetterRebuild: Sendable {
    /// For one statement of the comparison, which reads whole tables.
    private static let deadline = Duration.seconds(1800)
    private static let rowsMax = 5_000

    let topic: DeadLetterTopic
    let client: PostgresClient

    /// - Parameter progress: called with how many offsets of the topic were read, and of how many.
    /// - Returns: the difference between the former index and the topic.
    func run(
        progress: TopicScan.Progress = { _, _ in }
    ) async throws -> DeadLetterRebuildTable.Difference {
        try await client.withHeldConnection { connection in
            guard try await connection.run(DeadLetterRebuildTable.lock.acquire)[0] else {
                throw CommandError(
                    ExitCode.negative,
                    "the index is being rebuilt by another process"
                )
            }
            return try await run(on: connection, progress)
        }
    }

    private func run(
        on connection: PostgresConnection,
        _ progress: TopicScan.Progress
    ) async throws -> DeadLetterRebuildTable.Difference {
        try await DeadLetterRebuildTable.begin(on: connection)
        var records: [DeadLetterIndexTable.Record] = []
        var foreign: [Int32: Int64] = [:]
        let ends = try await topic.visitRecords(progress: progress) { read in
            for record in read {
                let row = DeadLetterRow(record)
                let partition = record.topicPartition.partition
                if row == nil {
                    foreign[partition, default: 0] += 1
                }
                records.append((partition, record.offset, row))
            }
            if records.count >= Self.rowsMax {
                try await DeadLetterRebuildTable.add(records, on: connection)
                records = []
            }
        }
        try await DeadLetterRebuildTable.add(records, on: connection)
        return try await DeadLetterRebuildTable.replace(
            readTo: ends.map { partition, end in
                .init(
                    topic: topic.name,
                    partition: partition,
                    nextOffset: end,
                    foreignCount: foreign[partition] ?? 0
                )
            },
            recreated: try await madeAnew(),
            deadline: Self.deadline,
            on: connection
        )
    }

    /// The partitions that end before their indexed offset.
    private func madeAnew() async throws -> Set<Int32> {
        let progress = try await DeadLetterIndexTable.progress(on: client)
        let marks = try await topic.watermarks()
        return Set(
            progress.filter { held in
                held.topic == topic.name && held.nextOffset > marks[held.partition]?.high ?? 0
            }.map(\.partition)
        )
    }
}

extension DeadLetterRebuildTable.Difference: Report {
    package var parts: [TextPart] {
        guard added + removed + changed > 0 else {
            return [.line("the index was what the topic says")]
        }
        return [
            .line("\(added) rows added"),
            .line("\(removed) rows removed, of letters that the topic has no more"),
            .line("\(changed) rows changed"),
        ]
    }

    package var json: JSONContent { ["added": added, "removed": removed, "changed": changed] }
}
