package import Postgres

/// The table `dead_letters_rebuilt`: the index as the topic has it, to be compared with the one
/// that is searched and put in its place.
package enum DeadLetterRebuildTable {
    /// How the former index differed from the topic.
    package struct Difference: Equatable, Sendable {
        package let added: Int
        package let removed: Int
        package let changed: Int

        package init(added: Int, removed: Int, changed: Int) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }
    }

    /// One rebuild at a time.
    package static let lock = SessionLock("dead letter rebuild")

    static let empty = Statement<Void, Void>("TRUNCATE dead_letters_rebuilt")

    static let add = Statement<[DeadLetterRow], Void>(
        [.rows("new", DeadLetterRow.columns)],
        """
        INSERT INTO dead_letters_rebuilt ($new.columns, state) SELECT new.*, 'open' FROM $new
        """
    )

    /// Of several copies of an ID in different batches the one that counts stays, with the number
    /// of all.
    static let fold = Statement<Void, Void>(
        """
        WITH folded AS (
            DELETE FROM dead_letters_rebuilt
            WHERE id IN (SELECT id FROM dead_letters_rebuilt GROUP BY id HAVING count(*) > 1)
            RETURNING *
        )
        INSERT INTO dead_letters_rebuilt (\(DeadLetterRow.columns.names()), state)
        SELECT DISTINCT ON (id) id, sum(copies) OVER of_id::int8,
            bool_or(is_disputed) OVER of_id
                OR (min(contents_sha256) FILTER (WHERE doubt IS NULL) OVER of_id)
                    IS DISTINCT FROM
                    (max(contents_sha256) FILTER (WHERE doubt IS NULL) OVER of_id)
                OR (min(letter_partition) FILTER (WHERE doubt IS NULL) OVER of_id)
                    IS DISTINCT FROM
                    (max(letter_partition) FILTER (WHERE doubt IS NULL) OVER of_id),
            \(DeadLetterRow.content.names()), state
        FROM folded
        WINDOW of_id AS (PARTITION BY id)
        ORDER BY id, doubt IS NOT NULL, value_state <> '\(DeadLetterRow.redacted)',
            letter_partition, letter_offset
        """
    )

    static let analyze = Statement<Void, Void>("ANALYZE dead_letters_rebuilt")

    /// Nobody indexes from here to the transaction's end; who searches is not held up.
    static let stopIndexing = Statement<Void, Void>(
        "LOCK TABLE dead_letter_progress IN SHARE ROW EXCLUSIVE MODE"
    )

    /// What was indexed meanwhile, from beyond the offsets that were read, stays as it is.
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
            copies = new.copies, is_disputed = new.is_disputed, \(assignments)
        FROM dead_letters_rebuilt AS new
        WHERE new.id = known.id AND \(isRead)
          AND (known.copies, known.is_disputed, \(DeadLetterRow.content.names(of: "known")))
              IS DISTINCT FROM
              (new.copies, new.is_disputed, \(DeadLetterRow.content.names(of: "new")))
        """
    )

    private static let assignments = DeadLetterRow.content.names
        .map { "\($0) = new.\($0)" }.joined(separator: ", ")

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

    /// Adds rows of what the topic holds.
    package static func add(
        _ records: [DeadLetterIndexTable.Record],
        on connection: PostgresConnection
    ) async throws {
        let checked = try await DeadLetterIndexTable.checked(records, on: connection)
        _ = try await connection.run(add, DeadLetterIndexTable.folded(checked))
    }

    /// Forgets what an earlier rebuild has left.
    package static func begin(on connection: PostgresConnection) async throws {
        _ = try await connection.run(empty)
    }

    /// Puts what was added in the place of the index, in one transaction: readers see all of it or
    /// nothing.
    ///
    /// - Parameters:
    ///   - ends: how far each partition was read; from there the indexer goes on.
    ///   - anew: partitions of a topic that was made anew, whose former rows count for nothing.
    ///   - deadline: for each statement.
    package static func replace(
        readTo ends: [DeadLetterIndexTable.Progress],
        anew: Set<Int32>,
        deadline: Duration,
        on connection: PostgresConnection
    ) async throws -> Difference {
        _ = try await connection.run(fold, deadline: deadline)
        _ = try await connection.run(analyze, deadline: deadline)
        let compared = ends.map { end in
            var end = end
            end.nextOffset = anew.contains(end.partition) ? .max : end.nextOffset
            return end
        }
        let difference = try await connection.transaction(deadline: deadline) { connection in
            _ = try await connection.run(DeadLetterTable.shareStates, deadline: deadline)
            _ = try await connection.run(stopIndexing, deadline: deadline)
            let removed = try await connection.run(remove, compared, deadline: deadline)
            let changed = try await connection.run(change, compared, deadline: deadline)
            let added = try await connection.run(insert, deadline: deadline)
            try await DeadLetterIndexTable.replace(by: ends, anew: anew, on: connection)
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
