import Postgres

/// Removes rows of letters that the dead-letter topic's retention has removed, so that the index
/// grows no older than its topic.
///
/// The actions about those letters, and their resulting states, stay. So does the row of a letter
/// that was written more than once: the topic may hold a copy at another position.
package enum DeadLetterPruning {
    /// The present start of a partition of the topic.
    package typealias Beginning = (partition: Int32, offset: Int64)

    /// The maximum of rows per transaction, so that the indexer never waits for long.
    package static let rowsPerTransaction = 2_000

    /// The number of rows below the starts of the partitions.
    package static let count = Statement<[Beginning], Int64>(
        [.rows("topic", [Column("partition", \.partition), Column("first_offset", \.offset)])],
        returning: RowReader("count"),
        """
        SELECT count(*) FROM $topic JOIN dead_letters AS known
            ON known.letter_partition = topic.partition
            AND known.letter_offset < topic.first_offset
        WHERE known.copies = 1
        """)

    /// Removes some of a partition's rows, the oldest first; the triggers adjust the counts.
    ///
    /// A letter that has been written again since has another copy, and stays.
    package static let remove = Statement<Beginning, Void>(
        [.value("partition", \.partition), .value("first_offset", \.offset)],
        """
        DELETE FROM dead_letters
        WHERE id = ANY (ARRAY(
            SELECT old.id FROM dead_letters AS old
            WHERE old.letter_partition = $partition AND old.letter_offset < $first_offset
                AND old.copies = 1
            ORDER BY old.letter_offset LIMIT \(rowsPerTransaction)
        )) AND letter_partition = $partition AND letter_offset < $first_offset AND copies = 1
        """)
}
