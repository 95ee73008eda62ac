package import AppStore
package import Records
package import Entitlements
import Postgres

/// The table `revisions`: every content ever read, once per key, with the raw record that first contained it.
package enum RevisionTable {
    package enum Kind: String, TextColumnValue {
        case transaction
        case renewal
        case appTransaction = "app_transaction"
    }

    package typealias Row = (
        kind: Kind, environment: Environment,
        /// The app; empty for renewal info, which has none.
        bundleID: Identifier, id: Identifier,
        /// The trust; empty for all but renewal info, where it is part of the key.
        trust: String, track: Track, revision: Revision, payload: ArraySlice<UInt8>, notificationUUID: String?,
        source: ObservationSource?
    )

    package static let add = Upsert<Row>(
        into: "revisions",
        [
            Column("kind", \.kind), Column("environment", \.environment), Column("bundle_id", \.bundleID),
            Column("id", \.id), Column("trust", \.trust), Column("track", \.track),
            Column("content_hash", \.revision.contentHash), Column("signed_date_ms", \.revision.signedDate),
            Column("payload") { JSONText($0.payload) }, Column("notification_uuid", \.notificationUUID),
            Column("source_index", \.source?.index),
        ] + RecordPosition.columns("source").of(\.source?.position), onConflict: "DO NOTHING")

    /// The question whether a content of an ID was first read from a record.
    package typealias Origin = (
        /// The index of the record, for the answer.
        index: Int, environment: Environment, id: Identifier, source: ObservationSource
    )

    /// The indexes of the records that first contained a content.
    package static let brought = Statement<[Origin], Int>(
        [
            .rows(
                "asked",
                [
                    Column("index", \.index), Column("environment", \.environment), Column("id", \.id),
                    Column("source_index", \.source.index),
                ] + RecordPosition.columns("source").of { $0.source.position })
        ], returning: RowReader("index"),
        """
        SELECT asked.index
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT FROM revisions AS known
            WHERE known.id = asked.id AND known.environment = asked.environment
              AND known.source_topic = asked.source_topic
              AND known.source_partition = asked.source_partition
              AND known.source_offset = asked.source_offset
              AND known.source_index = asked.source_index
            LIMIT 1
        ) AS found
        """)
}

/// The table `notifications`: every verified notification, even without a fact.
package enum NotificationTable {
    package typealias Row = (
        environment: Environment, uuid: String?, bundleID: Identifier?, type: String, subtype: String?,
        meaning: NotificationMeaning, signedDate: Timestamp, originalTransactionID: Identifier?,
        transactionID: Identifier?, consumptionRequestReason: String?, source: ObservationSource?
    )

    package static let add = Statement<[Row], Void>(
        [
            .rows(
                "new",
                [
                    Column("environment", \.environment), Column("uuid", \.uuid), Column("bundle_id", \.bundleID),
                    Column("type", \.type), Column("subtype", \.subtype), Column("meaning", \.meaning),
                    Column("signed_date_ms", \.signedDate), Column("original_transaction_id", \.originalTransactionID),
                    Column("transaction_id", \.transactionID),
                    Column("consumption_request_reason", \.consumptionRequestReason),
                ] + RecordPosition.columns("source").of(\.source?.position))
        ],
        """
        INSERT INTO notifications ($new.columns) SELECT * FROM $new
        ON CONFLICT DO NOTHING
        """)
}

/// The table `app_downloads`: the newest app transaction of each account and app.
package enum AppDownloadTable {
    static let key: Columns<AppTransactionFact> = [
        Column("app_transaction_id", \.appTransactionID), Column("environment", \.environment),
        Column("bundle_id", \.bundleID),
    ]

    static let terms: Columns<AppTransactionFact> =
        Revision.columns.of(\.revision) + [
            Column("trust", \.trust), Column("original_application_version", \.originalApplicationVersion),
            Column("original_purchase_date_ms", \.originalPurchaseDate),
            Column("original_platform", \.originalPlatform), Column("preorder_date_ms", \.preorderDate),
            Column("application_version", \.applicationVersion),
        ]

    /// Raises rows in the order of their keys, so that two workers never deadlock.
    package static let raise = Statement<[AppTransactionFact], Void>(
        [.rows("new", key + terms)],
        """
        INSERT INTO app_downloads AS known ($new.columns)
        SELECT * FROM $new ORDER BY \(key.names())
        ON CONFLICT (app_transaction_id, environment, bundle_id) DO UPDATE SET \(terms.excluded)
        WHERE (known.signed_date_ms, known.content_hash)
            < (excluded.signed_date_ms, excluded.content_hash)
        """)
}
