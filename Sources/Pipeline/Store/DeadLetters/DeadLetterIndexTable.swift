package import AppStore
package import Postgres

/// The table `dead_letter_progress`, and the writing of the index, batch by batch.
package enum DeadLetterIndexTable {
    /// The indexed offset of one partition of the dead-letter topic.
    package struct Progress: Equatable, Sendable {
        package let topic: String
        package let partition: Int32
        package var nextOffset: Int64
        package var foreignCount: Int64

        package init(topic: String, partition: Int32, nextOffset: Int64, foreignCount: Int64 = 0) {
            self.topic = topic
            self.partition = partition
            self.nextOffset = nextOffset
            self.foreignCount = foreignCount
        }
    }

    /// A record of the topic; without a row it is not a dead letter.
    package typealias Record = (partition: Int32, offset: Int64, row: DeadLetterRow?)

    private static let progressReader = RowReader(Progress.init, "topic", "partition", "next_offset", "foreign_records")

    static let read = Statement<Void, Progress>(
        returning: progressReader,
        """
        SELECT \(columns.names()) FROM dead_letter_progress ORDER BY topic, partition
        """)

    /// The next offset to read of a partition, and the time at which it was written.
    package struct Reading: Equatable, Sendable {
        package let partition: Int32
        package let nextOffset: Int64
        package let at: Timestamp

        init(partition: Int32, nextOffset: Int64, at: StoredTime) {
            self.partition = partition
            self.nextOffset = nextOffset
            self.at = Timestamp(at)
        }
    }

    package static let readReadings = Statement<String, Reading>(
        [.value("topic", \.self)], returning: RowReader(Reading.init, "partition", "next_offset", "at"),
        "SELECT partition, next_offset, at FROM dead_letter_progress WHERE topic = $topic")

    /// Reads the next offset of each partition of a topic.
    package static func readings(of topic: String, on client: PostgresClient) async throws -> [Reading] {
        Array(try await client.run(readReadings, topic))
    }

    static let begin = Statement<[Progress], Void>(
        [.rows("new", columns)],
        """
        INSERT INTO dead_letter_progress ($new.columns)
        SELECT * FROM $new ORDER BY topic, partition
        ON CONFLICT DO NOTHING
        """)

    static let lock = Statement<(topic: String, partitions: [Int32]), Progress>(
        [.value("topic", \.topic), .values("partitions", \.partitions)], returning: progressReader,
        """
        SELECT \(columns.names()) FROM dead_letter_progress
        WHERE topic = $topic AND partition = ANY ($partitions)
        ORDER BY partition FOR UPDATE
        """)

    static let write = Statement<[Progress], Void>(
        [.rows("new", columns)],
        """
        INSERT INTO dead_letter_progress ($new.columns)
        SELECT * FROM $new ORDER BY topic, partition
        ON CONFLICT (topic, partition) DO UPDATE SET
            next_offset = excluded.next_offset, foreign_records = excluded.foreign_records,
            at = now()
        """)

    private static let columns: Columns<Progress> = [
        Column("topic", \.topic), Column("partition", \.partition), Column("next_offset", \.nextOffset),
        Column("foreign_records", \.foreignCount),
    ]

    static let analyze = Statement<Void, Void>("ANALYZE dead_letters, dead_letter_hours")

    /// Makes the planner read the tables' sizes again, after many rows were written at once.
    package static func analyze(on client: PostgresClient) async throws { _ = try await client.run(analyze) }

    static let recordCount = Statement<Void, Int64>(
        returning: RowReader("records"), "SELECT coalesce(sum(letters), 0)::int8 AS records FROM dead_letter_hours")

    /// The number of letters in the index.
    package static func records(on connection: PostgresConnection) async throws -> Int64 {
        try await connection.run(recordCount)[0]
    }

    static let size = Statement<Void, Int64>(
        returning: RowReader("bytes"), "SELECT pg_total_relation_size('dead_letters') AS bytes")

    /// The bytes of the index on disk.
    package static func size(on client: PostgresClient) async throws -> Int64 { try await client.run(size)[0] }

    /// The indexed offset of each partition of the topic.
    package static func progress(on client: PostgresClient) async throws -> [Progress] {
        Array(try await client.run(read))
    }

    /// Sets the offsets at which indexing continues, for partitions of a recreated topic.
    package static func set(_ progress: [Progress], on client: PostgresClient) async throws {
        _ = try await client.run(write, progress)
    }

    static let empty = Statement<Void, Void>("TRUNCATE dead_letters")

    /// Removes all rows, with the counts and the progress of indexing; what was done about the letters
    /// stays.
    package static func removeAll(on client: PostgresClient) async throws { _ = try await client.run(empty) }

    /// Writes records and the index's progress, in one transaction; records that are indexed
    /// already are skipped.
    ///
    /// - Parameters:
    ///   - records: in the order of each partition.
    ///   - nextOffsets: by partition, the next offset to read after them.
    /// - Returns: the number of new records.
    package static func add(
        _ records: [Record], of topic: String, nextOffsets: [Int32: Int64], on client: PostgresClient
    ) async throws -> Int {
        let partitions = nextOffsets.keys.sorted()
        return try await client.transaction { connection in
            var pipeline = Pipeline()
            pipeline.add(DeadLetterTable.shareStates)
            pipeline.add(begin, partitions.map { Progress(topic: topic, partition: $0, nextOffset: 0) })
            let token = pipeline.add(lock, (topic, partitions))
            var progress: [Int32: Progress] = [:]
            for held in try await connection.run(pipeline)[token] { progress[held.partition] = held }
            let new = records.filter { record in
                progress[record.partition].map { $0.nextOffset <= record.offset } ?? true
            }
            try await write(folded(checked(new, on: connection)), on: connection)
            for record in new where record.row == nil { progress[record.partition]?.foreignCount += 1 }
            for (partition, offset) in nextOffsets {
                let known = progress[partition]?.nextOffset ?? 0
                progress[partition]?.nextOffset = max(known, offset)
            }
            _ = try await connection.run(write, Array(progress.values))
            return new.count
        }
    }

    private static func write(_ rows: [DeadLetterRow], on connection: PostgresConnection) async throws {
        guard !rows.isEmpty else { return }
        let written = try await connection.run(DeadLetterTable.upsert, rows)
        if written.affectedCount < rows.count { _ = try await connection.run(DeadLetterTable.addOthers, rows) }
    }

    /// Doubts redactions that are not recorded.
    ///
    /// Checks before the fold, so that a redaction that does not count hides no letter.
    private static func checked(_ records: [Record], on connection: PostgresConnection) async throws -> [Record] {
        let ids = Set(records.compactMap(\.row).filter(\.isRedaction).map(\.id))
        guard !ids.isEmpty else { return records }
        let recorded = Set(try await connection.run(DeadLetterActionTable.redactedAmong, Array(ids)))
        return records.map { record in
            var row = record.row
            row?.checkRedaction(recorded)
            return (record.partition, record.offset, row)
        }
    }

    /// Folds records into one row for each ID, from the copy that counts, with the number of copies.
    package static func folded(_ records: [Record]) -> [DeadLetterRow] {
        var rows: [String: DeadLetterRow] = [:]
        rows.reserveCapacity(records.count)
        for case let row? in records.lazy.map(\.row) {
            let id = StorableText.of(row.id)
            if rows[id]?.merge(row) == nil { rows[id] = row }
        }
        return Array(rows.values)
    }
}
