import AppStore
import Entitlements
import JSON
import OpenSSL
import Postgres
import Records

/// The rows of `app_downloads` that a batch raises: of each account and app the newest statement.
///
/// An app transaction without an `appTransactionId`, as Apple signed them before 2025, names no
/// account: it stands in `revisions` alone.
struct AppDownloads {
    private struct Key: Hashable, Comparable {
        let id: String
        let environment: String
        let bundleID: String

        static func < (left: Key, right: Key) -> Bool {
            (left.id, left.environment, left.bundleID)
                < (right.id, right.environment, right.bundleID)
        }
    }

    private struct Statement {
        let revision: Revision
        let trust: Trust
        let payload: AppTransactionPayload
    }

    private var newest: [Key: Statement] = [:]

    mutating func append(_ value: JSONValue, _ trust: Trust, _ observation: Observation) {
        let payload = AppTransactionPayload(value)
        guard let id = payload.appTransactionID?.string, let bundleID = observation.bundleID,
            let signedDate = payload.signedDate
        else { return }
        let key = Key(
            id: id,
            environment: observation.environment.rawValue,
            bundleID: bundleID
        )
        let revision = Revision(signedDate: signedDate, contentHash: ContentHash.of(value))
        if let known = newest[key], known.revision >= revision { return }
        newest[key] = Statement(
            revision: revision,
            trust: trust,
            payload: payload
        )
    }

    /// Nil where there is nothing to be written.
    ///
    /// In the order of the keys, so that two workers never wait for each other.
    var statement: PostgresStatement? {
        guard !newest.isEmpty else { return nil }
        var ids = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var signedDates = PostgresArray(of: .int8)
        var hashes = PostgresArray(of: .bytea)
        var trusts = PostgresArray(of: .text)
        var originalVersions = PostgresArray(of: .text)
        var originalDates = PostgresArray(of: .int8)
        var platforms = PostgresArray(of: .text)
        var preorderDates = PostgresArray(of: .int8)
        var versions = PostgresArray(of: .text)
        for (key, statement) in newest.sorted(by: { $0.key < $1.key }) {
            ids.append(key.id)
            environments.append(key.environment)
            bundleIDs.append(key.bundleID)
            signedDates.append(statement.revision.signedDate.milliseconds)
            hashes.append(statement.revision.contentHash.bytes)
            trusts.append(statement.trust.text)
            originalVersions.append(statement.payload.originalApplicationVersion?.string)
            originalDates.append(statement.payload.originalPurchaseDate?.milliseconds)
            platforms.append(statement.payload.originalPlatform?.string)
            preorderDates.append(statement.payload.preorderDate?.milliseconds)
            versions.append(statement.payload.applicationVersion?.string)
        }
        let columns = [
            ids, environments, bundleIDs, signedDates, hashes, trusts, originalVersions,
            originalDates, platforms, preorderDates, versions,
        ]
        return PostgresStatement(Self.raise, columns.map { .array($0) })
    }

    private static let raise = """
        INSERT INTO app_downloads AS known (
            app_transaction_id, environment, bundle_id, signed_date_ms, content_hash, trust,
            original_application_version, original_purchase_date_ms, original_platform,
            preorder_date_ms, application_version)
        SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::int8[], $5::bytea[], $6::text[], $7::text[],
            $8::int8[], $9::text[], $10::int8[], $11::text[])
        ON CONFLICT (app_transaction_id, environment, bundle_id) DO UPDATE SET
            signed_date_ms = excluded.signed_date_ms,
            content_hash = excluded.content_hash,
            trust = excluded.trust,
            original_application_version = excluded.original_application_version,
            original_purchase_date_ms = excluded.original_purchase_date_ms,
            original_platform = excluded.original_platform,
            preorder_date_ms = excluded.preorder_date_ms,
            application_version = excluded.application_version
        WHERE (known.signed_date_ms, known.content_hash)
            < (excluded.signed_date_ms, excluded.content_hash)
        """
}
