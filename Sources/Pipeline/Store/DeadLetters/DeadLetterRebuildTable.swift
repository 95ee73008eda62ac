package import Postgres

/// The table `dead_letters_rebuilt`: the index as read from the topic, to compare with the current
/// one and to replace it.
package enum DeadLetterRebuildTable {
    /// The differences between the former index and the topic.
    package struct Difference: Equatable, Sendable {
        package let added: Int
        package let removed: Int
        package let changed: Int
    }

    package static let lock = SessionLock("dead letter rebuild")

    static let empty = Statement<Void, Void>("TRUNCATE dead_letters_rebuilt")

    static let add = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.columns)],
        """
        INSERT INTO dead_letters_rebuilt ($new.columns, state) SELECT new.*, 'open' FROM $new
        """
    )

    /// Keeps the copy that counts among several of an ID in different batches, with the number of
    /// all.
    static let fold = Statement<Void, Void>(
        """
        WITH folded AS (
            DELETE FROM dead_letters_rebuilt
            WHERE id IN (SELECT id FROM dead_letters_rebuilt GROUP BY id HAVING count(*) > 1)
            RETURNING *
        )
        INSERT INTO dead_letters_rebuilt (id, copies, is_disputed, \(others), state)
        SELECT DISTINCT ON (id) id, sum(copies) OVER of_id::int8,
            bool_or(is_disputed) OVER of_id
                OR (min(contents_sha256) FILTER (WHERE doubt IS NULL) OVER of_id)
                    IS DISTINCT FROM
                    (max(contents_sha256) FILTER (WHERE doubt IS NULL) OVER of_id)
                OR (min(letter_partition) FILTER (WHERE doubt IS NULL) OVER of_id)
                    IS DISTINCT FROM
                    (max(letter_partition) FILTER (WHERE doubt IS NULL) OVER of_id),
            \(others), state
        FROM folded
        WINDOW of_id AS (PARTITION BY id)
        ORDER BY id, doubt IS NOT NULL, value_state <> '\(DeadLetterRow.redacted)',
            letter_partition, letter_offset
        """
    )

    private static let others = DeadLetterRow.columns.names
        .filter { !["id", "copies", "is_disputed"].contains($0) }.joined(separator: ", ")

    static let analyze = Statement<Void, Void>("ANALYZE dead_letters_rebuilt")

    /// Stops indexing until the transaction's end; searches are not held up.
    static let stopIndexing = Statement<Void, Void>(
        "LOCK TABLE dead_letter_progress IN SHARE ROW EXCLUSIVE MODE"
    )

    /// Rows indexed since, from beyond the offsets that were read, stay as they are.
    private static let isRead = """
        EXISTS (
            SELECT FROM $read
            WHERE read.partition = known.letter_partition
              AND known.letter_offset < read.next_offset)
        """

    typealias Ends = [DeadLetterIndexTable.Progress]

    private static let readEnds: Parameter<Ends> = .rows(
        "read",
        [Column("partition", \.partition), Column("next_offset", \.nextOffset)]
    )

    static let remove = Statement<Ends, Void>(
        [readEnds],
        """
        DELETE FROM dead_letters AS known
        WHERE NOT EXISTS (SELECT FROM dead_letters_rebuilt AS new WHERE new.id = known.id)
          AND (\(isRead) OR NOT EXISTS (
              SELECT FROM $read WHERE read.partition = known.letter_partition))
        """
    )

    static let change = Statement<Ends, Void>(
        [readEnds],
        """
        UPDATE dead_letters AS known SET
            \(DeadLetterRow.columns.assignments(from: "new", except: "id"))
        FROM dead_letters_rebuilt AS new
        WHERE new.id = known.id AND \(isRead)
          AND (\(DeadLetterRow.columns.names(of: "known")))
              IS DISTINCT FROM (\(DeadLetterRow.columns.names(of: "new")))
        """
    )

    static let insert = Statement<Void, Void>(
        """
        INSERT INTO dead_letters (\(DeadLetterRow.columns.names()), state)
        SELECT \(DeadLetterRow.columns.names(of: "new")), coalesce(held.state, 'open')
        FROM dead_letters_rebuilt AS new
        LEFT JOIN dead_letter_states AS held ON held.id = new.id
        WHERE NOT EXISTS (SELECT FROM dead_letters AS known WHERE known.id = new.id)
        ORDER BY new.failed_at, new.id
        """
    )

    static let forgetProgress = Statement<Void, Void>("DELETE FROM dead_letter_progress")

    /// Adds rows that were read from the topic.
    package static func add(
        _ records: [DeadLetterIndexTable.Record],
        on connection: PostgresConnection
    ) async throws {
        let checked = try await DeadLetterIndexTable.checked(records, on: connection)
        _ = try await connection.run(add, DeadLetterIndexTable.folded(checked))
    }

    /// Deletes the remains of an earlier rebuild.
    package static func begin(on connection: PostgresConnection) async throws {
        _ = try await connection.run(empty)
    }

    /// Replaces the index by the added rows, in one transaction: readers see all of it or nothing.
    ///
    /// - Parameters:
    ///   - ends: the end of each partition's reading, where the indexer continues.
    ///   - recreated: partitions of a recreated topic, whose former rows are void.
    ///   - deadline: for each statement.
    package static func replace(
        readTo ends: [DeadLetterIndexTable.Progress],
        recreated: Set<Int32>,
        deadline: Duration,
        on connection: PostgresConnection
    ) async throws -> Difference {
        _ = try await connection.run(fold, deadline: deadline)
        _ = try await connection.run(analyze, deadline: deadline)
        let compared = ends.map { end in
            var end = end
            end.nextOffset = recreated.contains(end.partition) ? .max : end.nextOffset
            return end
        }
        let difference = try await connection.transaction(deadline: deadline) { connection in
            _ = try await connection.run(DeadLetterTable.shareStates, deadline: deadline)
            _ = try await connection.run(stopIndexing, deadline: deadline)
            let removed = try await connection.run(remove, compared, deadline: deadline)
            let changed = try await connection.run(change, compared, deadline: deadline)
            let added = try await connection.run(insert, deadline: deadline)
            try await DeadLetterIndexTable.replace(by: ends, recreated: recreated, on: connection)
            return Difference(
                added: added.affectedCount,
                removed: removed.affectedCount,
                changed: changed.affectedCount
            )
        }
        _ = try await connection.run(empty)
        return difference
    }
}
