import AppStore
package import Entitlements
import OpenSSL
package import Postgres

/// The memory of the deduplication: the newest revision of each ID, and notifications.
///
/// It may be pruned at any time: a duplicate of a pruned entry is forwarded once more, and
/// `entitle-worker`, which never forgets, changes nothing.
package struct DedupeMemory: Sendable {
    /// An entry to remember after its record is acknowledged.
    package enum Mark: Sendable {
        /// - Parameter isNew: whether the memory had no entry of the ID.
        case part(ObservedPart, isNew: Bool)
        /// A notification, of which only the UUID is remembered.
        indirect case notification(PartKey)
    }

    /// The remembered revision of one ID in one of its tracks.
    package struct Remembered: Sendable {
        /// The index of the ID in the question.
        package let index: Int
        /// The remembered revision.
        ///
        /// `nil` for a notification.
        package let revision: PartRevision?
    }

    package let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// Reads the remembered entries of the IDs, in one round trip.
    package func recall(_ keys: [PartKey]) async throws -> [Remembered] {
        var revisions: [RememberedRevision.Question] = []
        var notifications: [RememberedNotification.Question] = []
        for (index, key) in keys.enumerated() {
            if let key = RememberedNotification.Key(key) {
                notifications.append((index, key))
            } else {
                revisions.append((index, key))
            }
        }
        var pipeline = Pipeline()
        let tokens = [
            pipeline.add(RememberedRevision.recall, unlessEmpty: revisions),
            pipeline.add(RememberedNotification.recall, unlessEmpty: notifications),
        ]
        guard !pipeline.isEmpty else { return [] }
        let answers = try await client.run(pipeline)
        return tokens.compactMap { $0 }.flatMap { answers[$0] }
    }

    /// Raises the memory to all marks, or to none on an error, in one round trip.
    ///
    /// An entry is never lowered, whatever the order of the workers.
    package func raise(to marks: [Mark]) async throws {
        var newest: [(part: ObservedPart, isNew: Bool)] = []
        var indexes: [RememberedRevision.TrackKey: Int] = [:]
        newest.reserveCapacity(marks.count)
        indexes.reserveCapacity(marks.count)
        var notifications: Set<RememberedNotification.Key> = []
        for mark in marks {
            switch mark {
            case .notification(let key): if let key = RememberedNotification.Key(key) { notifications.insert(key) }
            case .part(let part, let isNew):
                let key = RememberedRevision.TrackKey(key: part.key, track: part.revision.track)
                if let index = indexes[key] {
                    if newest[index].part.revision.revision < part.revision.revision { newest[index].part = part }
                } else {
                    indexes[key] = newest.count
                    newest.append((part, isNew))
                }
            }
        }
        let new = newest.filter(\.isNew).map(\.part)
        let others = newest.filter { !$0.isNew }.map(\.part)
        let run = { (newRows: NewRows) in
            var pipeline = Pipeline()
            pipeline.add(RememberedRevision.raise, new: new, newRows, others: others)
            pipeline.add(RememberedNotification.add, unlessEmpty: Array(notifications))
            guard !pipeline.isEmpty else { return }
            _ = try await client.run(pipeline)
        }
        do { try await run(.inserted) } catch let error as PostgresError where error.sqlState == .uniqueViolation {
            // Another worker has inserted one of the rows in the meantime.
            try await run(.upserted)
        }
    }
}

/// A row of `dedupe_revisions`.
enum RememberedRevision {
    /// The primary key; a field that a kind lacks is the empty string, because keys cannot be NULL.
    struct Key {
        var kind: String
        var environment: Environment
        var bundleID: Identifier = ""
        var id: Identifier
        var trust = ""

        init(_ key: PartKey) {
            switch key {
            case .transaction(let key):
                (kind, environment) = ("transaction", key.environment)
                (bundleID, id) = (key.bundleID, key.transactionID)
            case .renewal(let key):
                (kind, environment) = ("renewal", key.environment)
                (id, trust) = (key.originalTransactionID, key.trust.text)
            case .appTransaction(let environment, let bundleID, let id):
                (kind, self.environment) = ("app_transaction", environment)
                (self.bundleID, self.id) = (bundleID, id)
            case .claim(let key, let userID):
                (kind, environment) = ("claim", key.environment)
                bundleID = key.bundleID
                id = "\(key.transactionID)/\(SHA256.digest(Array(userID.text.utf8)).hex)"
            case .notification: preconditionFailure("notifications are remembered in a table of their own")
            }
        }
    }

    struct TrackKey: Hashable {
        let key: PartKey
        let track: Track
    }

    /// The key of an ID, and its index in the question.
    typealias Question = (index: Int, key: PartKey)

    private static let key: Columns<Key> = [
        Column("kind", \.kind), Column("environment", \.environment), Column("bundle_id", \.bundleID),
        Column("id", \.id), Column("trust", \.trust),
    ]

    /// Looks up each ID by the primary key, regardless of the planner's estimates.
    ///
    /// A plan made while the tables were small must not scan them when they are large.
    static let recall = Statement<[Question], DedupeMemory.Remembered>(
        [.rows("asked", [Column("index", \.index)] + key.of { Key($0.key) })], returning: remembered,
        """
        SELECT asked.index, known.track, known.signed_date_ms, known.content_hash,
               known.original_transaction_id, known.product_id, known.purchase_date_ms,
               known.product_type, known.quantity
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM dedupe_revisions AS revision
            WHERE \(key.equal("revision", "asked"))
            OFFSET 0
        ) AS known
        """)

    private static let remembered = RowReader(
        { DedupeMemory.Remembered(index: $0, revision: $1) }, "index",
        RowReader(
            PartRevision.init, "track", Revision.reader,
            RowReader(
                TransactionIdentity.init(remembered:product:purchaseDate:type:quantity:), "original_transaction_id",
                "product_id", "purchase_date_ms", "product_type", "quantity")))

    private static let row: Columns<ObservedPart> =
        key.of { Key($0.key) } + [
            Column("track", \.revision.track), Column("signed_date_ms", \.revision.revision.signedDate),
            Column("content_hash", \.revision.revision.contentHash),
            Column("original_transaction_id", \.revision.identity?.originalTransactionID),
            Column("product_id", \.revision.identity?.productID),
            Column("purchase_date_ms", \.revision.identity?.purchaseDate),
            Column("product_type", \.revision.identity?.type), Column("quantity", \.revision.identity?.quantity),
        ]

    /// Raises the revisions of IDs; immutable fields never change once they are known.
    ///
    /// The rows are sorted, so that two workers that mark the same IDs wait for each other instead of deadlocking.
    static let raise = Upsert<ObservedPart>(
        into: "dedupe_revisions", row,
        from: "SELECT * FROM $new ORDER BY id, kind, environment, bundle_id, trust, track",
        onConflict: """
            (id, kind, environment, bundle_id, trust, track) DO UPDATE SET
                signed_date_ms = excluded.signed_date_ms,
                content_hash = excluded.content_hash,
                product_type = coalesce(known.product_type, excluded.product_type),
                quantity = coalesce(known.quantity, excluded.quantity),
                marked_at = now()
            WHERE (excluded.signed_date_ms, excluded.content_hash)
                > (known.signed_date_ms, known.content_hash)
            """)
}

/// A row of `dedupe_notifications`.
enum RememberedNotification {
    struct Key: Hashable {
        let environment: Environment
        let uuid: Identifier

        /// Returns `nil` unless the key is a notification's.
        init?(_ key: PartKey) {
            guard case .notification(let environment, let uuid) = key else { return nil }
            self.environment = environment
            self.uuid = uuid
        }
    }

    /// The key of a notification, and its index in the question.
    typealias Question = (index: Int, key: Key)

    private static let key: Columns<Key> = [Column("environment", \.environment), Column("uuid", \.uuid)]

    static let recall = Statement<[Question], DedupeMemory.Remembered>(
        [.rows("asked", [Column("index", \.index)] + key.of(\.key))],
        returning: RowReader({ DedupeMemory.Remembered(index: $0, revision: nil) }, "index"),
        """
        SELECT asked.index
        FROM $asked
        WHERE EXISTS (
            SELECT 1 FROM dedupe_notifications AS known
            WHERE \(key.equal("known", "asked"))
            OFFSET 0
        )
        """)

    static let add = Statement<[Key], Void>(
        [.rows("new", key)],
        """
        INSERT INTO dedupe_notifications ($new.columns)
        SELECT * FROM $new ORDER BY uuid, environment
        ON CONFLICT DO NOTHING
        """)
}

extension TransactionIdentity {
    /// Returns `nil` unless the columns contain a transaction's fields.
    fileprivate init?(
        remembered originalTransactionID: Identifier?, product: Identifier?, purchaseDate: Timestamp?,
        type: ProductType?, quantity: Int32?
    ) {
        guard let originalTransactionID, let product, let purchaseDate else { return nil }
        self.init(
            originalTransactionID: originalTransactionID, productID: product, purchaseDate: purchaseDate, type: type,
            quantity: quantity)
    }
}
