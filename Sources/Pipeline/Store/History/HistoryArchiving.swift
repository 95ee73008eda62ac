import AppStore
package import Entitlements
import Postgres

/// Moves rows out of the tables that only grow, for `pipeline history archive`.
///
/// Only rows that serve nothing but history are removed. The newest content of each key stays in
/// `revisions`, with the contents of spans, of receipts' revocations and of older names: facts can be derived from
/// them again. The newest change of each entitlement stays in `changes`, so that questions about
/// later times are answered as before, and so do unpublished changes.
package enum HistoryArchiving {
    package enum Table: String, CaseIterable, TextColumnValue {
        case revisions, changes, notifications
    }

    /// An archive as it begins: the end of the rows to remove, their table and the file.
    package typealias Archive = (table: Table, before: StoredTime, file: String)

    /// Some pages of a table, and the instant before which rows had to be superseded.
    package typealias Step = (before: StoredTime, firstPage: Int64)

    /// The number of pages that one step scans.
    package static let pagesPerStep: Int64 = 256
    /// The maximum of rows that one transaction removes: a payload may be large.
    package static let rowsPerTransaction = 500

    /// Held while archiving or restoring, so that no two sessions remove the same rows.
    package static let lock = SessionLock("history archive")

    /// Records that an archive begins, before its first row is removed; returns its number.
    package static let begin = Statement<Archive, Int64>(
        [.value("table", \.table), .value("before", \.before), .value("file", \.file)],
        returning: RowReader("number"),
        """
        INSERT INTO history_archives (table_name, archived_before, file)
        VALUES ($table, $before, $file) RETURNING number
        """
    )

    /// Records that an archive holds all of its rows.
    package static let finish = Statement<(number: Int64, rows: Int64), Void>(
        [.value("number", \.number), .value("rows", \.rows)],
        """
        UPDATE history_archives SET finished_at = clock_timestamp(), row_count = $rows
        WHERE number = $number
        """
    )

    package static let pageCount = Statement<Table, Int64>(
        [.value("table")],
        returning: RowReader("pages"),
        """
        SELECT coalesce(pg_relation_size(to_regclass($table)), 0)
            / current_setting('block_size')::int8 AS pages
        """
    )

    /// The number of rows that a step would remove.
    package static func count(in table: Table) -> Statement<Step, Int64> {
        Statement(
            stepParameters,
            returning: RowReader("count"),
            "SELECT count(*) FROM \(table.rawValue) AS old WHERE \(condition(table))"
        )
    }

    private static let stepParameters: [Parameter<Step>] = [
        .value("before", \.before), .value("first_page", \.firstPage),
        .value("end_page") { $0.firstPage + pagesPerStep },
    ]

    private static func condition(_ table: Table) -> String {
        let superseded =
            switch table {
            case .revisions: supersededRevision
            case .changes: supersededChange
            case .notifications: oldNotification
            }
        return """
            old.ctid >= format('(%s,0)', $first_page)::tid
            AND old.ctid < format('(%s,0)', $end_page)::tid
            AND \(superseded)
            """
    }
}

extension HistoryArchiving {
    /// A row of `revisions` that may be removed, and the locks that it needs.
    package struct OldRevision: Sendable {
        /// The row's position, as PostgreSQL writes it.
        package let position: String
        /// Nil for an app transaction.
        package let scope: PurchaseScope?
        /// Nil for all but an app transaction.
        package let download: AppTransactionGroup?
    }

    /// The superseded rows of a step, before anything is locked.
    package static let oldRevisions = Statement<Step, OldRevision>(
        stepParameters,
        returning: RowReader(
            {
                (
                    position: String,
                    environment: Environment,
                    bundleID: Identifier,
                    original: Identifier?,
                    download: Identifier?
                ) in
                OldRevision(
                    position: position,
                    scope: original.map {
                        PurchaseScope(environment: environment, originalTransactionID: $0)
                    },
                    download: download.map {
                        AppTransactionGroup(
                            environment: environment,
                            bundleID: bundleID,
                            appTransactionID: $0
                        )
                    }
                )
            },
            "position",
            "environment",
            "bundle_id",
            "original_transaction_id",
            "app_transaction_id"
        ),
        """
        SELECT old.ctid::text AS position, old.environment, old.bundle_id,
               CASE old.kind
                   WHEN 'renewal' THEN old.id
                   WHEN 'transaction' THEN (
                       SELECT fact.original_transaction_id FROM transactions AS fact
                       WHERE \(transactionOfOld)
                   )
               END AS original_transaction_id,
               CASE old.kind WHEN 'app_transaction' THEN old.id END AS app_transaction_id
        FROM revisions AS old WHERE \(condition(.revisions))
        LIMIT \(rowsPerTransaction)
        """
    )

    /// Keeps entitle-worker from making an older content of app transactions the newest again.
    package static let lockDownloads = Statement<[AppTransactionGroup], Void>(
        [
            .rows(
                "asked",
                [
                    Column("app_transaction_id", \.appTransactionID),
                    Column("environment", \.environment), Column("bundle_id", \.bundleID),
                ]
            )
        ],
        """
        SELECT FROM app_downloads AS known
        WHERE (known.app_transaction_id, known.environment, known.bundle_id)
            IN (SELECT * FROM $asked)
        ORDER BY known.app_transaction_id, known.environment, known.bundle_id
        FOR NO KEY UPDATE
        """
    )

    /// Removes those of the rows that are still superseded, now that they are locked.
    ///
    /// Returns each as a JSON object of one line; its payload is a string, byte for byte.
    package static let takeRevisions = Statement<
        (positions: [String], before: StoredTime), JSONText
    >(
        [.values("positions", \.positions), .value("before", \.before)],
        returning: RowReader("line"),
        """
        DELETE FROM revisions AS old
        WHERE old.ctid = ANY ($positions::tid[]) AND \(supersededRevision)
        RETURNING json_build_object(
            'kind', old.kind, 'environment', old.environment, 'bundle_id', old.bundle_id,
            'id', old.id, 'trust', old.trust, 'track', old.track,
            'content_hash', old.content_hash, 'signed_date_ms', old.signed_date_ms,
            'payload', old.payload::text, 'notification_uuid', old.notification_uuid,
            'source_topic', old.source_topic, 'source_partition', old.source_partition,
            'source_offset', old.source_offset, 'source_index', old.source_index,
            'recorded_at', old.recorded_at) AS line
        """
    )

    /// Removes rows of a step; returns each as a JSON object of one line.
    package static let takeChanges = taking(.changes)
    package static let takeNotifications = taking(.notifications)

    private static func taking(_ table: Table) -> Statement<Step, JSONText> {
        Statement(
            stepParameters,
            returning: RowReader("line"),
            """
            DELETE FROM \(table.rawValue) AS gone
            WHERE gone.ctid = ANY (ARRAY(
                SELECT old.ctid FROM \(table.rawValue) AS old WHERE \(condition(table))
                LIMIT \(rowsPerTransaction)
            ))
            RETURNING row_to_json(gone) AS line
            """
        )
    }
}

extension HistoryArchiving {
    private static let transactionOfOld = """
        fact.transaction_id = old.id AND fact.environment = old.environment
        AND fact.bundle_id = old.bundle_id AND fact.track = old.track
        """

    /// `old` is neither the present content of its fact nor that of a name, a revocation or a span, and
    /// the content that replaced it was recorded before the instant too.
    private static let supersededRevision = """
        old.recorded_at < $before AND (
            old.kind = 'transaction' AND EXISTS (
                SELECT FROM transactions AS fact
                WHERE \(transactionOfOld)
                    AND \(isUnnamed)
                    AND fact.revoked_content_hash IS DISTINCT FROM old.content_hash
                    AND \(isOldToo)
            )
            OR old.kind = 'renewal' AND EXISTS (
                SELECT FROM renewals AS fact
                WHERE fact.original_transaction_id = old.id
                    AND fact.environment = old.environment AND fact.trust = old.trust
                    AND \(isUnnamed)
                    AND \(isOldToo)
            ) AND NOT \(RevisionTable.statesSpans("old"))
            OR old.kind = 'app_transaction' AND EXISTS (
                SELECT FROM app_downloads AS fact
                WHERE fact.app_transaction_id = old.id
                    AND fact.environment = old.environment AND fact.bundle_id = old.bundle_id
                    AND fact.content_hash <> old.content_hash
                    AND \(isOldToo)
            )
        )
        """

    private static let isUnnamed = """
        fact.content_hash <> old.content_hash
        AND fact.token_content_hash IS DISTINCT FROM old.content_hash
        AND fact.app_transaction_content_hash IS DISTINCT FROM old.content_hash
        """

    /// The content of `fact` was recorded before the instant.
    private static let isOldToo = """
        EXISTS (
            SELECT FROM revisions AS newest
            WHERE newest.id = old.id AND newest.kind = old.kind
                AND newest.environment = old.environment AND newest.bundle_id = old.bundle_id
                AND newest.trust = old.trust AND newest.track = old.track
                AND newest.content_hash = fact.content_hash AND newest.recorded_at < $before
        )
        """

    private static let supersededChange = """
        old.changed_at < $before AND EXISTS (
            SELECT FROM changes AS newer
            WHERE newer.user_id = old.user_id AND newer.version > old.version
                AND newer.environment = old.environment
                AND newer.bundle_id IS NOT DISTINCT FROM old.bundle_id
                AND newer.original_transaction_id IS NOT DISTINCT FROM old.original_transaction_id
                AND newer.grant_id IS NOT DISTINCT FROM old.grant_id
                AND newer.entitlement_key = old.entitlement_key
                AND newer.changed_at < $before
        ) AND (old.user_id, old.version) NOT IN (
            SELECT waiting.user_id, waiting.version FROM unpublished_changes AS waiting
        )
        """

    private static let oldNotification = "old.recorded_at < $before"
}
