import AppStore
import Entitlements
import Postgres
import Records

/// The columns of `notifications`: the history of all that Apple sent.
struct NotificationColumns {
    private var environments = PostgresArray(of: .text)
    private var uuids = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var types = PostgresArray(of: .text)
    private var subtypes = PostgresArray(of: .text)
    private var meanings = PostgresArray(of: .text)
    private var signedDates = PostgresArray(of: .int8)
    private var originals = PostgresArray(of: .text)
    private var transactions = PostgresArray(of: .text)
    private var sources = SourceColumns()

    /// A notification without a UUID is kept by where it was read from.
    mutating func append(
        _ notification: ObservedNotification,
        _ meaning: NotificationMeaning,
        _ record: EntitleRecord
    ) {
        let source = record.observation.source
        let position = source.map { "\($0.topic)/\($0.partition)/\($0.offset)/\($0.index)" }
        environments.append(record.observation.environment.rawValue)
        uuids.append(notification.uuid?.lowercased() ?? position)
        bundleIDs.append(record.observation.bundleID)
        types.append(notification.type)
        subtypes.append(notification.subtype)
        meanings.append(meaning.rawValue)
        signedDates.append(notification.signedDate.milliseconds)
        originals.append(record.scope?.originalTransactionID)
        transactions.append(record.transaction?.key.transactionID)
        sources.append(source)
    }

    /// Nil where there is nothing to be written.
    var statement: PostgresStatement? {
        guard uuids.count > 0 else { return nil }
        let columns = [
            environments, uuids, bundleIDs, types, subtypes, meanings, signedDates, originals,
            transactions, sources.topics, sources.partitions, sources.offsets,
        ]
        return PostgresStatement(Self.insert, columns.map { .array($0) })
    }

    private static let insert = """
        INSERT INTO notifications (
            environment, uuid, bundle_id, type, subtype, meaning, signed_date_ms,
            original_transaction_id, transaction_id, source_topic, source_partition, source_offset)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[],
            $8::text[], $9::text[], $10::text[], $11::int8[], $12::int8[])
        ON CONFLICT DO NOTHING
        """
}
