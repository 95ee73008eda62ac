import Postgres

/// The table `dead_letter_replay_positions`: the offsets of the dead-letter topic that a replay has
/// read.
package enum ReplayPositionTable {
    package typealias Position = (partition: Int32, next: Int64)

    package static let write = Statement<(replay: Int64, positions: [Position]), Void>(
        [
            .value("replay", \.replay),
            .rows("given", [Column("letter_partition", \.partition), Column("next_offset", \.next)], \.positions),
        ],
        """
        INSERT INTO dead_letter_replay_positions (replay, $given.columns)
        SELECT $replay, $given.columns FROM $given
        ON CONFLICT (replay, letter_partition) DO UPDATE SET next_offset = excluded.next_offset
        """)

    package static let read = Statement<Int64, Position>(
        [.value("replay")], returning: RowReader({ ($0, $1) }, "letter_partition", "next_offset"),
        """
        SELECT letter_partition, next_offset FROM dead_letter_replay_positions
        WHERE replay = $replay ORDER BY letter_partition
        """)
}
