import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The statements that raise the memory to what one batch brought.
struct RevisionMarks {
    private struct Track: Hashable {
        let key: PartKey
        let track: Entitlements.Track
    }

    private var newest: [Track: PartRevision] = [:]
    private var notifications: Set<PartKey> = []

    init(_ marks: [DedupeBatch.Mark]) {
        for mark in marks {
            guard let revision = mark.revision else {
                notifications.insert(mark.key)
                continue
            }
            let track = Track(key: mark.key, track: revision.track)
            if let other = newest[track], other.revision >= revision.revision { continue }
            newest[track] = revision
        }
    }

    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !newest.isEmpty {
            statements.append(PostgresStatement(Self.raiseRevisions, revisionColumns))
        }
        if !notifications.isEmpty {
            var columns = NotificationColumns()
            for key in notifications {
                columns.append(key)
            }
            statements.append(PostgresStatement(Self.addNotifications, columns.values))
        }
        return statements
    }

    private var revisionColumns: [PostgresValue] {
        var parts = PartColumns()
        var tracks = PostgresArray(of: .text)
        var signedDates = PostgresArray(of: .int8)
        var contentHashes = PostgresArray(of: .bytea)
        var originals = PostgresArray(of: .text)
        var products = PostgresArray(of: .text)
        var purchaseDates = PostgresArray(of: .int8)
        var types = PostgresArray(of: .text)
        var quantities = PostgresArray(of: .int8)
        for (track, revision) in newest {
            parts.append(track.key)
            tracks.append(track.track.rawValue)
            signedDates.append(revision.revision.signedDate.milliseconds)
            contentHashes.append(revision.revision.contentHash.bytes)
            let identity = revision.identity
            originals.append(identity?.originalTransactionID)
            products.append(identity?.productID)
            purchaseDates.append(identity?.purchaseDate.milliseconds)
            types.append(identity?.type?.rawValue)
            quantities.append(identity?.quantity.map { Int64($0) })
        }
        let own = [
            tracks, signedDates, contentHashes, originals, products, purchaseDates, types,
            quantities,
        ]
        return parts.values + own.map { .array($0) }
    }

    /// Raises what is remembered, and keeps what never changes for an ID once it is known.
    ///
    /// Sorted, so that two workers that mark the same IDs wait for each other instead of locking
    /// each other out.
    private static let raiseRevisions = """
        INSERT INTO dedupe_revisions AS known (
            kind, environment, bundle_id, id, trust, track, signed_date_ms, content_hash,
            original_transaction_id, product_id, purchase_date_ms, product_type, quantity)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
            $7::int8[], $8::bytea[], $9::text[], $10::text[], $11::int8[],
            $12::text[], $13::int8[])
        ORDER BY 4, 1, 2, 3, 5, 6
        ON CONFLICT (id, kind, environment, bundle_id, trust, track) DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            product_type = coalesce(known.product_type, excluded.product_type),
            quantity = coalesce(known.quantity, excluded.quantity),
            marked_at = now()
        WHERE (excluded.signed_date_ms, excluded.content_hash)
            > (known.signed_date_ms, known.content_hash)
        """

    private static let addNotifications = """
        INSERT INTO dedupe_notifications (environment, uuid)
        SELECT * FROM unnest($1::text[], $2::text[])
        ORDER BY 2, 1
        ON CONFLICT DO NOTHING
        """
}
