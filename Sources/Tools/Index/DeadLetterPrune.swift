import DeadLetters
import Kafka
import Postgres
import Settings
import Store

/// Removes the index's rows of letters that retention has removed from the topic.
///
/// Reads only the topic's offsets, and may run beside the indexer.
struct DeadLetterPrune: Sendable {
    let topic: DeadLetterTopic
    let client: PostgresClient

    /// - Parameter isRemoving: whether to remove the rows; otherwise they are only counted.
    /// - Returns: the number of rows that were removed, or would be.
    /// - Throws: a `CommandError` if the index belongs to another topic, or if the topic ends
    ///   before the indexed offset: the index's offsets then belong to an earlier topic.
    func run(isRemoving: Bool) async throws -> Int {
        let progress = try await DeadLetterIndexTable.progress(on: client)
        try progress.requireOwner(topic)
        let marks = try await topic.watermarks()
        try Self.require(marks, toReach: progress)
        let beginnings = marks.map { partition, marks in (partition: partition, offset: marks.low) }
        guard isRemoving else { return Int(try await client.run(DeadLetterPruning.count, beginnings)[0]) }
        var total = 0
        for beginning in beginnings.sorted(by: { $0.partition < $1.partition }) {
            var removed = 0
            repeat {
                try Task.checkCancellation()
                removed = try await client.run(DeadLetterPruning.remove, beginning).affectedCount
                total += removed
            } while removed == DeadLetterPruning.rowsPerTransaction
        }
        return total
    }

    /// Throws if the topic ends before the indexed offset.
    private static func require(_ marks: [Int32: Watermarks], toReach progress: [DeadLetterIndexTable.Progress])
        throws(CommandError)
    {
        let ahead = progress.first { $0.nextOffset > marks[$0.partition]?.high ?? 0 }
        guard let ahead else { return }
        throw CommandError(
            ExitCode.configuration,
            "partition \(ahead.partition) of \(ahead.topic) ends before the last indexed offset: the topic "
                + "was recreated, or this is another cluster; nothing is removed "
                + "('\(DeadLetterTool.name) index --rebuild' removes all rows and reads the topic again)")
    }
}
