package import AppStore
package import Entitlements
package import Postgres
package import Records

/// The cause of changed rows, as recorded in `changes`.
package struct ChangeCause: Sendable {
    package enum Kind: String, TextColumnValue { case transaction, renewal, notification, link, catalog, rebuild }

    package let kind: Kind
    package let id: String?
    /// The body that caused the change.
    ///
    /// `nil` if no body caused the change, such as for a link that was written late.
    package let source: ObservationSource?

    package init(_ kind: Kind, id: String? = nil, source: ObservationSource? = nil) {
        self.kind = kind
        self.id = id
        self.source = source
    }
}

/// The tables `changes`, the append-only history of users' entitlements, and `user_versions`, with
/// the last version of each user's changes.
///
/// A trigger adds each new change to the outbox of the feed.
package enum ChangeTable {
    package typealias Row = (purchase: PurchaseKey, change: EntitlementChange, cause: ChangeCause)

    /// The changes of one transaction, and the catalog of their projection.
    package struct Batch: Sendable {
        fileprivate let steps: [(userID: Identifier, count: Int64)]
        fileprivate let rows: [Numbered]
        fileprivate let catalogVersion: Int64?

        fileprivate struct Numbered: Sendable {
            let row: Row
            /// The number of the user's later changes in the batch.
            let versionsAfter: Int64
        }

        /// - Parameters:
        ///   - rows: the changes; each gets the next version of its user, in this order.
        ///   - catalogVersion: the version of the catalog; `nil` without a catalog.
        package init(_ rows: [Row], catalogVersion: Int64?) {
            var counts: [Identifier: Int64] = [:]
            for row in rows { counts[row.change.userID, default: 0] += 1 }
            steps = counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            self.rows = rows.map { row in
                let left = (counts[row.change.userID] ?? 1) - 1
                counts[row.change.userID] = left
                return Numbered(row: row, versionsAfter: left)
            }
            self.catalogVersion = catalogVersion
        }
    }

    private static let row: Columns<Row> =
        PurchaseKey.columns.of(\.purchase) + [
            Column("entitlement_key", \.change.key), Column("old_periods", \.change.old),
            Column("new_periods", \.change.new), Column("cause", \.cause.kind), Column("cause_id", \.cause.id),
            Column("former_user_id", \.change.formerUserID),
        ] + RecordPosition.columns("source").of(\.cause.source?.position)
        + EntitlementTerms.columns.of(\.change.newTerms)

    /// Appends changes; the upsert waits for other transactions of the user, so no version is assigned twice.
    package static let append = Statement<Batch, Void>(
        [
            .rows("steps", [Column("user_id", \.userID), Column("version", \.count)], \.steps),
            .rows(
                "change",
                [Column("user_id", \.row.change.userID), Column("versions_after", \.versionsAfter)] + row.of(\.row),
                \.rows), .value("catalog_version", \.catalogVersion),
        ],
        """
        WITH given AS (
            INSERT INTO user_versions AS known ($steps.columns)
            SELECT * FROM $steps
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + excluded.version
            RETURNING user_id, version
        )
        INSERT INTO changes (user_id, version, \(row.names()), catalog_version)
        SELECT change.user_id, given.version - change.versions_after,
               \(row.names(of: "change")), $catalog_version
        FROM $change
        JOIN given USING (user_id)
        """)
}

/// The instants at which periods begin or end: the columns `next_boundary` of `entitlements` and `grants`.
package enum BoundaryColumns {
    package typealias Request = (rowsMax: Int, notice: Duration)

    package static let rowsMax = 500

    /// Adds the events of the oldest rows with a due boundary, and returns the number of these rows.
    ///
    /// Never waits: users with rows that are being changed are left for the next call.
    package static let announce = Statement<Request, Int64>(
        [.value("rows_max", \.rowsMax), .value("notice_ms", \.notice.wholeMilliseconds)], returning: RowReader("count"),
        "SELECT announce_boundaries($rows_max, $notice_ms * interval '1 millisecond') AS count")
}

/// A change of a user's entitlements, as stored in the history.
package struct RecordedChange: Sendable {
    package let userID: Identifier
    package let version: Int64
    package let changedAt: StoredTime
    package let environment: String
    package let bundleID: Identifier?
    package let originalTransactionID: Identifier?
    package let key: Identifier
    package let old: [PostgresPeriod]
    package let new: [PostgresPeriod]
    /// The terms of the entitlement in this version.
    package let terms: EntitlementTerms
    package let cause: String
    package let causeID: String?
    /// The event, for the cause `time`.
    package let event: String?
    /// The user who had the entitlement before, after a transfer.
    package let formerUserID: Identifier?
    package let catalogVersion: Int64?
    /// The plan by which the catalog was applied, for the cause `catalog`.
    package let plan: Int64?
    package let source: RecordPosition?

    /// Reads columns of `changes`, and `plan`.
    static let reader = RowReader(
        RecordedChange.init, "user_id", "version", "changed_at", "environment", "bundle_id", "original_transaction_id",
        "entitlement_key", "old_periods", "new_periods", EntitlementTerms.reader, "cause", "cause_id", "event",
        "former_user_id", "catalog_version", "plan", RecordPosition.optionalReader("source"))
}
