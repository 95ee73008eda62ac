package import AppStore
package import Entitlements
import Postgres

/// Rows that `pipeline rebuild` reads and writes when it derives facts from their contents again.
extension AppDownloadTable {
    /// The starting point, and the number of rows to read.
    package struct Window: Sendable {
        package let after: AppTransactionGroup
        package let countMax: Int

        package init(after: AppTransactionGroup, countMax: Int) {
            self.after = after
            self.countMax = countMax
        }
    }

    /// The key of a row, with the revision and the trust of its content.
    package struct Named: Sendable {
        package let group: AppTransactionGroup
        package let revision: Revision
        package let trust: Trust
    }

    /// The next rows in the order of their keys, locked, since entitle-worker may raise them.
    package static let next = Statement<Window, Named>(
        [
            .value("id", \.after.appTransactionID), .value("environment", \.after.environment),
            .value("bundle_id", \.after.bundleID), .value("count_max", \.countMax),
        ],
        returning: RowReader { columns in
            let id = columns("app_transaction_id", Identifier.self)
            let environment = columns("environment", Environment.self)
            let bundleID = columns("bundle_id", Identifier.self)
            let revision = Revision.declare(&columns)
            let trust = columns("trust", Trust.self)
            return { row in
                Named(
                    group: AppTransactionGroup(
                        environment: row[environment],
                        bundleID: row[bundleID],
                        appTransactionID: row[id]
                    ),
                    revision: revision(row),
                    trust: row[trust]
                )
            }
        },
        """
        SELECT app_transaction_id, environment, bundle_id, signed_date_ms, content_hash, trust
        FROM app_downloads
        WHERE (app_transaction_id, environment, bundle_id) > ($id, $environment, $bundle_id)
        ORDER BY app_transaction_id, environment, bundle_id LIMIT $count_max
        FOR NO KEY UPDATE
        """
    )

    /// Overwrites the table's rows.
    package static let replace = Statement.replacing("app_downloads", key: key, terms: terms)
}

extension AppDownloadTable.Row {
    /// Nil for an app transaction that names no account.
    package init?(_ fact: AppTransactionFact) {
        guard let group = fact.group else { return nil }
        self.init(
            group: group,
            revision: fact.revision,
            trust: fact.trust,
            originalApplicationVersion: fact.originalApplicationVersion,
            originalPurchaseDate: fact.originalPurchaseDate,
            originalPlatform: fact.originalPlatform,
            preorderDate: fact.preorderDate,
            applicationVersion: fact.applicationVersion
        )
    }
}
