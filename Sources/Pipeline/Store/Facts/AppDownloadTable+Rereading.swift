import AppStore
package import Entitlements
import Postgres

/// Rows that `pipeline rebuild` reads and writes when it derives facts from their contents again.
extension AppDownloadTable {
    /// The starting point, and the number of rows to read.
    package typealias Window = (after: AppTransactionGroup, countMax: Int)

    /// The keys of the next rows in order, with the revision and the trust of their contents.
    ///
    /// The rows are locked, because `entitle-worker` may raise them.
    package static let next = Statement<Window, AppTransactionFact>(
        [
            .value("id", \.after.appTransactionID), .value("environment", \.after.environment),
            .value("bundle_id", \.after.bundleID), .value("count_max", \.countMax),
        ],
        returning: RowReader(
            { id, environment, bundleID, revision, trust in
                AppTransactionFact(
                    environment: environment, bundleID: bundleID, track: .jws, revision: revision, trust: trust,
                    appTransactionID: id)
            }, "app_transaction_id", "environment", "bundle_id", Revision.reader, "trust"),
        """
        SELECT app_transaction_id, environment, bundle_id, signed_date_ms, content_hash, trust
        FROM app_downloads
        WHERE (app_transaction_id, environment, bundle_id) > ($id, $environment, $bundle_id)
        ORDER BY app_transaction_id, environment, bundle_id LIMIT $count_max
        FOR NO KEY UPDATE
        """)

    /// Overwrites rows of the table.
    package static let replace = Statement.replacing("app_downloads", key: key, terms: terms)
}
