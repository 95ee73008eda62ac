import DeadLetters
import Kafka
import Postgres
import Settings
import Store

/// Removes rows from the index whose letters retention has removed from the topic, beside the
/// indexer and without reading the topic.
struct DeadLetterPrune: Sendable {
    let topic: DeadLetterTopic
    let client: PostgresClient

    /// - Parameter isRemoving: false only counts.
    /// - Returns: how many rows were removed, or would be.
    /// - Throws: also if the index is that of another topic, or of one that ends before the indexed
    ///   offset: then its offsets say nothing about the rows.
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

    /// Throws if the topic was recreated, or belongs to another cluster.
    private static func require(_ marks: [Int32: Watermarks], toReach progress: [DeadLetterIndexTable.Progress])
        throws(CommandError)
    {
        let ahead = progress.first { $0.nextOffset > marks[$0.partition]?.high ?? 0 }
        guard let ahead else { return }
        throw CommandError(
            ExitCode.configuration,
            "\(ahead.topic) ends before what is indexed of its partition \(ahead.partition): it "
                + "was recreated, or this is another cluster; nothing is removed "
                + "('\(DeadLetterTool.name) index --rebuild' removes all and reads it again)")
    }
}
