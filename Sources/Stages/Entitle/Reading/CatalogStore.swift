import Entitlements
import Postgres
import Synchronization

/// The product catalog that holds, read anew when another version was applied.
final class CatalogStore: Sendable {
    struct Versioned: Sendable {
        /// Nil while none was applied: every product is unknown then.
        var version: Int64?
        var catalog: Catalog
    }

    private let known = Mutex(Versioned(version: nil, catalog: Catalog()))

    /// The answer's only field is the version that holds; null where there is none.
    static let newestVersion = PostgresStatement("SELECT max(version) FROM catalog_versions")

    /// - Throws: where the catalog cannot be read: no record pays for a fault of the settings.
    func catalog(
        version: Int64?,
        _ connection: PostgresConnection
    ) async throws -> Versioned {
        let cached = known.withLock { $0 }
        guard let version, cached.version != version else { return cached }
        let rows = try await connection.query(
            "SELECT content FROM catalog_versions WHERE version = $1::int8",
            [.int8(version)]
        )
        let catalog = try Catalog(json: rows[0].bytes(0))
        let read = Versioned(version: version, catalog: catalog)
        known.withLock { $0 = read }
        return read
    }

    /// The products that are not the same in all catalogs from one version to a later one.
    ///
    /// Version 0 is before the first: then nothing was known.
    static func productIDs(
        changedAfter first: Int64,
        through last: Int64,
        _ connection: PostgresConnection
    ) async throws -> Set<String> {
        var changed: Set<String> = []
        var former = Catalog()
        let rows = try await connection.query(
            """
            SELECT content FROM catalog_versions WHERE version BETWEEN $1::int8 AND $2::int8
            ORDER BY version
            """,
            [.int8(first), .int8(last)]
        )
        for (index, row) in rows.enumerated() {
            let catalog = try Catalog(json: row.bytes(0))
            if index > 0 || first == 0 {
                changed.formUnion(catalog.productIDs(differingFrom: former))
            }
            former = catalog
        }
        return changed
    }
}
