import Postgres

/// Restores archived history, row by row; rows that exist already stay as they are.
package enum HistoryRestoring {
    /// The entry of an archive in `history_archives`; row count nil if it was interrupted.
    package static let known = Statement<
        (number: Int64, table: HistoryArchiving.Table), Int64?
    >(
        [.value("number", \.number), .value("table", \.table)],
        returning: RowReader("row_count"),
        "SELECT row_count FROM history_archives WHERE number = $number AND table_name = $table"
    )

    /// Records that all rows of an archive are restored.
    package static let finish = Statement<Int64, Void>(
        [.value("number")],
        """
        UPDATE history_archives SET restored_at = clock_timestamp()
        WHERE number = $number AND restored_at IS NULL
        """
    )

    private static let lines: [Parameter<[JSONText]>] = [
        .rows("archived", [Column("line") { $0 }])
    ]

    /// Returns the number of rows that were missing.
    package static let addRevisions = Statement<[JSONText], Void>(
        lines,
        """
        INSERT INTO revisions (
            kind, environment, bundle_id, id, trust, track, content_hash, signed_date_ms, payload,
            notification_uuid, source_topic, source_partition, source_offset, source_index,
            recorded_at)
        SELECT was.kind, was.environment, was.bundle_id, was.id, was.trust, was.track,
            was.content_hash, was.signed_date_ms, (line ->> 'payload')::json,
            was.notification_uuid, was.source_topic, was.source_partition, was.source_offset,
            was.source_index, was.recorded_at
        FROM $archived
        CROSS JOIN LATERAL json_populate_record(NULL::revisions, line) AS was
        ON CONFLICT DO NOTHING
        """
    )

    /// The trigger of `changes` adds these rows to the outbox: call `withdrawChanges` afterwards,
    /// in the same transaction.
    package static let addChanges = adding("changes")
    package static let addNotifications = adding("notifications")

    private static func adding(_ table: String) -> Statement<[JSONText], Void> {
        Statement(
            lines,
            """
            INSERT INTO \(table)
            SELECT was.* FROM $archived
            CROSS JOIN LATERAL json_populate_record(NULL::\(table), line) AS was
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Removes this transaction's rows from the outbox: they were published long ago.
    package static let withdrawChanges = Statement(
        """
        DELETE FROM unpublished_changes
        WHERE xmin = pg_current_xact_id()::xid
        """
    )
}
