import AppStore
import Entitlements
import JSON
import OpenSSL
import Postgres
import Records

/// The columns of `revisions`: every content that was learned, once per key.
struct RevisionColumns {
    private var kinds = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var ids = PostgresArray(of: .text)
    private var trusts = PostgresArray(of: .text)
    private var tracks = PostgresArray(of: .text)
    private var hashes = PostgresArray(of: .bytea)
    private var signedDates = PostgresArray(of: .int8)
    private var payloads = PostgresArray(of: .json)
    private var uuids = PostgresArray(of: .text)
    private var sources = SourceColumns()

    mutating func append(
        _ fact: TransactionFact,
        _ payload: JSONValue,
        _ observation: Observation
    ) {
        kinds.append("transaction")
        bundleIDs.append(fact.key.bundleID)
        ids.append(fact.key.transactionID)
        trusts.append("")
        tracks.append(fact.track.rawValue)
        append(fact.revision, payload, observation)
    }

    mutating func append(
        _ fact: RenewalFact,
        _ payload: JSONValue,
        _ observation: Observation
    ) {
        kinds.append("renewal")
        bundleIDs.append("")
        ids.append(fact.key.originalTransactionID)
        trusts.append(fact.key.trust.text)
        tracks.append(Track.jws.rawValue)
        append(fact.revision, payload, observation)
    }

    mutating func append(
        appTransaction payload: JSONValue,
        _ verification: VerificationFacts,
        _ observation: Observation
    ) {
        let transaction = AppTransactionPayload(payload)
        let hash = ContentHash.of(payload)
        kinds.append("app_transaction")
        bundleIDs.append(observation.bundleID ?? "")
        ids.append(transaction.appTransactionID?.string ?? "sha256:" + hash.hex)
        trusts.append("")
        tracks.append(Track(verification.method).rawValue)
        let revision = Revision(
            signedDate: transaction.signedDate ?? verification.signedDate,
            contentHash: hash
        )
        append(revision, payload, observation)
    }

    private mutating func append(
        _ revision: Revision,
        _ payload: JSONValue,
        _ observation: Observation
    ) {
        environments.append(observation.environment.rawValue)
        hashes.append(revision.contentHash.bytes)
        signedDates.append(revision.signedDate.milliseconds)
        payloads.append(payload.rawBytes)
        uuids.append(observation.notification?.uuid)
        sources.append(observation.source)
    }

    /// Nil where there is nothing to be written.
    var statement: PostgresStatement? {
        guard kinds.count > 0 else { return nil }
        let columns = [
            kinds, environments, bundleIDs, ids, trusts, tracks, hashes, signedDates, payloads,
            uuids, sources.topics, sources.partitions, sources.offsets, sources.indices,
        ]
        return PostgresStatement(Self.insert, columns.map { .array($0) })
    }

    private static let insert = """
        INSERT INTO revisions (
            kind, environment, bundle_id, id, trust, track, content_hash, signed_date_ms, payload,
            notification_uuid, source_topic, source_partition, source_offset, source_index)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[],
            $8::int8[], $9::json[], $10::text[], $11::text[], $12::int8[], $13::int8[],
            $14::int8[])
        ON CONFLICT DO NOTHING
        """
}
