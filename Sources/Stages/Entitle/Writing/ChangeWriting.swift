import AppStore
import Entitlements
import Postgres

/// The statement that appends to the history of what users may use.
enum ChangeWriting {
    /// Gives each change of a user the next version of theirs, in the order of the list.
    static func append(
        _ changes: [RowChanges.Changed],
        catalogVersion: Int64?
    ) -> PostgresStatement? {
        guard !changes.isEmpty else { return nil }
        var counts: [String: Int64] = [:]
        for change in changes {
            counts[change.change.userID, default: 0] += 1
        }
        var users = PostgresArray(of: .text)
        var steps = PostgresArray(of: .int8)
        for (user, count) in counts.sorted(by: { $0.key < $1.key }) {
            users.append(user)
            steps.append(count)
        }
        var columns = Columns()
        for change in changes {
            let left = (counts[change.change.userID] ?? 1) - 1
            counts[change.change.userID] = left
            columns.append(change, versionsAfter: left)
        }
        return PostgresStatement(
            insert,
            ([users, steps] + columns.arrays).map { .array($0) }
                + [catalogVersion.map { .int8($0) } ?? .null]
        )
    }

    /// The upsert waits for whoever else gives the user versions, so none is given twice.
    private static let insert = """
        WITH given AS (
            INSERT INTO user_versions AS known (user_id, version)
            SELECT * FROM unnest($1::text[], $2::int8[])
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + excluded.version
            RETURNING user_id, version
        )
        INSERT INTO changes (
            user_id, version, environment, bundle_id, original_transaction_id, entitlement_key,
            old_periods, new_periods, cause, cause_id, source_topic, source_partition,
            source_offset, catalog_version)
        SELECT change.user_id, given.version - change.versions_after, change.environment,
               change.bundle_id, change.original_transaction_id, change.entitlement_key,
               change.old_periods, change.new_periods, change.cause, change.cause_id,
               change.source_topic, change.source_partition, change.source_offset, $16::int8
        FROM unnest(
            $3::text[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::tstzmultirange[], $10::tstzmultirange[], $11::text[], $12::text[], $13::text[],
            $14::int8[], $15::int8[])
            AS change (user_id, versions_after, environment, bundle_id, original_transaction_id,
                entitlement_key, old_periods, new_periods, cause, cause_id, source_topic,
                source_partition, source_offset)
        JOIN given USING (user_id)
        """

    private struct Columns {
        private var users = PostgresArray(of: .text)
        private var versionsAfter = PostgresArray(of: .int8)
        private var environments = PostgresArray(of: .text)
        private var bundleIDs = PostgresArray(of: .text)
        private var originals = PostgresArray(of: .text)
        private var keys = PostgresArray(of: .text)
        private var old = PostgresArray(of: .periods)
        private var new = PostgresArray(of: .periods)
        private var causes = PostgresArray(of: .text)
        private var causeIDs = PostgresArray(of: .text)
        private var sources = SourceColumns()

        mutating func append(_ changed: RowChanges.Changed, versionsAfter left: Int64) {
            users.append(changed.change.userID)
            versionsAfter.append(left)
            environments.append(changed.purchase.environment.rawValue)
            bundleIDs.append(changed.purchase.bundleID)
            originals.append(changed.purchase.originalTransactionID)
            keys.append(changed.change.key)
            old.append(changed.change.old.stored)
            new.append(changed.change.new.stored)
            causes.append(changed.cause.kind.rawValue)
            causeIDs.append(changed.cause.id)
            sources.append(changed.cause.source)
        }

        var arrays: [PostgresArray] {
            [
                users, versionsAfter, environments, bundleIDs, originals, keys, old, new, causes,
                causeIDs, sources.topics, sources.partitions, sources.offsets,
            ]
        }
    }
}
