import Entitlements
import Postgres

/// The statements that ask what is remembered of the IDs of one batch.
///
/// The answers' first column is the ID's place in the batch.
struct RevisionQuestion {
    private var revisions = PartColumns()
    private var notifications = NotificationColumns()
    private var revisionPlaces = PostgresArray(of: .int8)
    private var notificationPlaces = PostgresArray(of: .int8)

    init(_ keys: [PartKey]) {
        for (place, key) in keys.enumerated() {
            if notifications.append(key) {
                notificationPlaces.append(Int64(place))
            } else {
                revisions.append(key)
                revisionPlaces.append(Int64(place))
            }
        }
    }

    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if revisionPlaces.count > 0 {
            statements.append(
                PostgresStatement(Self.askRevisions, [.array(revisionPlaces)] + revisions.values)
            )
        }
        if notificationPlaces.count > 0 {
            let parameters = [.array(notificationPlaces)] + notifications.values
            statements.append(PostgresStatement(Self.askNotifications, parameters))
        }
        return statements
    }

    /// Each ID is looked up by the primary key, whatever the planner believes of the tables' sizes:
    /// a plan made while they were small must not read them whole when they are not.
    private static let askRevisions = """
        SELECT asked.place, known.track, known.signed_date_ms, known.content_hash,
               known.original_transaction_id, known.product_id, known.purchase_date_ms,
               known.product_type, known.quantity
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
             AS asked (place, kind, environment, bundle_id, id, trust)
        CROSS JOIN LATERAL (
            SELECT * FROM dedupe_revisions AS revision
            WHERE revision.kind = asked.kind AND revision.environment = asked.environment
              AND revision.bundle_id = asked.bundle_id AND revision.id = asked.id
              AND revision.trust = asked.trust
            OFFSET 0
        ) AS known
        """

    private static let askNotifications = """
        SELECT asked.place, NULL::text
        FROM unnest($1::int8[], $2::text[], $3::text[]) AS asked (place, environment, uuid)
        WHERE EXISTS (
            SELECT 1 FROM dedupe_notifications AS known
            WHERE known.environment = asked.environment AND known.uuid = asked.uuid
            OFFSET 0
        )
        """
}
