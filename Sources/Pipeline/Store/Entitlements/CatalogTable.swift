package import AppStore
package import Entitlements
package import Postgres
import Settings

/// The table `catalog_versions`: the applied product catalogs; the newest is in force.
package enum CatalogTable {
    /// The channel on which the database announces a new catalog.
    package static let channel = "catalog"

    /// The version of the newest catalog.
    ///
    /// `nil` if no catalog was applied.
    package static let newestVersion = Statement<Void, Int64?>(
        returning: RowReader("version"), "SELECT max(version) AS version FROM catalog_versions")

    package static let content = Statement<Int64, JSONText>(
        [.value("version")], returning: RowReader("content"),
        "SELECT content FROM catalog_versions WHERE version = $version")

    /// The catalog of the version before the newest.
    package static let former = Statement<Void, JSONText>(
        returning: RowReader("content"), "SELECT content FROM catalog_versions ORDER BY version DESC OFFSET 1 LIMIT 1")

    /// The versions from the first through the last given one, in ascending order.
    package static let versions = Statement<(first: Int64, last: Int64), Int64>(
        [.value("first", \.first), .value("last", \.last)], returning: RowReader("version"),
        """
        SELECT version FROM catalog_versions WHERE version BETWEEN $first AND $last
        ORDER BY version
        """)

    /// The version in force after applying a catalog, and whether the version is new.
    package struct Applied: Hashable, Sendable {
        package let version: Int64
        package let isNew: Bool
    }

    /// An error for a catalog that was planned against another version than the newest.
    package struct Superseded: CommandFailure, CustomStringConvertible {
        private let newest: Int64

        package init(newest: Int64) { self.newest = newest }

        package var exitCode: Int32 { ExitCode.negative }

        package var description: String {
            "catalog version \(newest) came into force since it was planned; nothing is applied, plan again"
        }
    }

    /// Applies a catalog; applying the newest catalog again changes nothing.
    ///
    /// - Parameters:
    ///   - expected: the version that must be the newest, 0 for none; `nil` for any.
    ///   - plan: the number of the plan that is applied.
    ///   - by: the person who asks for it, for the history beside the database's user.
    ///   - reason: the reason, for the history.
    /// - Throws: `Superseded` if another version than the expected one is the newest.
    package static func apply(
        _ catalog: StorableCatalog, after expected: Int64? = nil, plan: Int64? = nil, by: String? = nil,
        reason: String? = nil, on connection: PostgresConnection
    ) async throws -> Applied {
        try await connection.transaction { transaction in
            // Lock first: two sessions that apply the same catalog at once would both find it new.
            _ = try await transaction.run(lock)
            let content = ByteString(catalog.bytes)
            let newest = try await transaction.run(newest, content).first
            if let newest, newest.isSame { return Applied(version: newest.version, isNew: false) }
            if let expected, expected != newest?.version ?? 0 { throw Superseded(newest: newest?.version ?? 0) }
            let version = try await transaction.run(insert, content)[0]
            _ = try await transaction.run(sign, (version, plan, by, reason))
            return Applied(version: version, isNew: true)
        }
    }

    /// Parses a catalog and applies it.
    package static func apply(json: [UInt8], on connection: PostgresConnection) async throws -> Applied {
        try await apply(StorableCatalog(json), on: connection)
    }

    static let lock = Statement("LOCK TABLE catalog_versions IN SHARE ROW EXCLUSIVE MODE")

    static let newest = Statement<ByteString, (version: Int64, isSame: Bool)>(
        [.value("content")], returning: RowReader({ ($0, $1) }, "version", "is_same"),
        """
        SELECT version, content_sha256 = sha256($content) AS is_same FROM catalog_versions
        ORDER BY version DESC LIMIT 1
        """)

    static let insert = Statement<ByteString, Int64>(
        [.value("content")], returning: RowReader("version"),
        """
        INSERT INTO catalog_versions (content, content_sha256)
        VALUES (convert_from($content, 'UTF8')::json, sha256($content))
        RETURNING version
        """)

    static let sign = Statement<(version: Int64, plan: Int64?, by: String?, reason: String?), Void>(
        [.value("version", \.version), .value("plan", \.plan), .value("by", \.by), .value("reason", \.reason)],
        """
        UPDATE catalog_versions SET plan = $plan, requested_by = $by, reason = $reason WHERE version = $version
        """)
}

/// The row of `catalog_projection`: the catalog of all projected rows, and the progress of
/// projecting a later one.
package struct CatalogProjection: Sendable {
    /// The version with which all rows are projected; rows that a later version changes may be
    /// projected with that version.
    package let version: Int64
    /// The version being projected.
    ///
    /// `nil` if no projection is in progress.
    package let target: Int64?
    /// The last processed purchase.
    package let after: PurchaseScope
    /// The newest version; 0 without a catalog.
    package let newest: Int64

    package var isLeftToDo: Bool { target != nil || version < newest }

    package static let read = Statement<Void, CatalogProjection>(
        returning: RowReader(
            CatalogProjection.init, "version", "target",
            RowReader(PurchaseScope.init, "after_environment", "after_original_transaction_id"), "newest"),
        """
        SELECT version, target, after_environment, after_original_transaction_id,
               (SELECT coalesce(max(version), 0) FROM catalog_versions) AS newest
        FROM catalog_projection WHERE is_only
        """)

    package static let begin = Statement<Int64, Void>(
        [.value("target")],
        """
        UPDATE catalog_projection SET target = $target, after_original_transaction_id = '',
            after_environment = ''
        WHERE is_only
        """)

    package static let reached = Statement<PurchaseScope, Void>(
        [.value("original", \.originalTransactionID), .value("environment", \.environment)],
        """
        UPDATE catalog_projection SET after_original_transaction_id = $original,
            after_environment = $environment
        WHERE is_only
        """)

    package static let finish = Statement(
        """
        UPDATE catalog_projection SET version = target, target = NULL,
            after_original_transaction_id = '', after_environment = ''
        WHERE is_only
        """)

    /// A transaction; its products show whether a new catalog affects the purchase.
    package struct Sold: Sendable {
        package let scope: PurchaseScope
        package let productID: Identifier
        package let items: [CommerceItem]

        /// The products of the transaction and of its items.
        package var productIDs: [Identifier] { [productID] + items.map(\.sku) }
    }

    package static let soldCountMax = 2000

    /// The next transactions, ordered by purchase.
    package static let sold = Statement<PurchaseScope, Sold>(
        [.value("original", \.originalTransactionID), .value("environment", \.environment)],
        returning: RowReader(
            Sold.init, PurchaseScope.reader, "product_id",
            RowReader<JSONText?>("items").map { $0.map { CommerceItem.items(stored: $0) } ?? [] }),
        """
        SELECT environment, original_transaction_id, product_id, items FROM transactions
        WHERE (original_transaction_id, environment) > ($original, $environment)
        ORDER BY original_transaction_id, environment LIMIT \(soldCountMax)
        """)
}
