import AppStore
import Entitlements
import Postgres
import Store
import Synchronization

/// The product catalog in force, read again when another version was applied.
final class CatalogStore: Sendable {
    struct Versioned: Sendable {
        /// Nil if none was applied: then every product is unknown.
        var version: Int64?
        var catalog: Catalog
    }

    private let known = Mutex(Versioned(version: nil, catalog: Catalog()))

    /// - Throws: if the catalog cannot be read: no record is blamed for a fault of the settings.
    func catalog(version: Int64?, _ connection: PostgresConnection) async throws -> Versioned {
        let cached = known.withLock { $0 }
        guard let version, cached.version != version else { return cached }
        let content = try await connection.run(CatalogTable.content, version)[0]
        let catalog = try Catalog(json: Array(content.bytes))
        let read = Versioned(version: version, catalog: catalog)
        known.withLock { $0 = read }
        return read
    }

    /// The products that differ in some catalog between one version and a later one.
    ///
    /// Version 0 is before the first catalog: then no product was known.
    static func productIDs(
        changedAfter first: Int64,
        through last: Int64,
        _ connection: PostgresConnection
    ) async throws -> Set<Identifier> {
        var changed: Set<Identifier> = []
        var former = Catalog()
        let contents = try await connection.run(CatalogTable.contents, (first, last))
        for (index, content) in contents.enumerated() {
            let catalog = try Catalog(json: Array(content.bytes))
            if index > 0 || first == 0 {
                changed.formUnion(catalog.productIDs(differingFrom: former))
            }
            former = catalog
        }
        return changed
    }
}
