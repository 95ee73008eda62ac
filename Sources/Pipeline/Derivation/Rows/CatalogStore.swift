package import AppStore
package import Entitlements
package import Postgres
import Store
import Synchronization

/// The applied product catalog, read again after another version is applied.
package final class CatalogStore: Sendable {
    package struct Versioned: Sendable {
        /// The version of the applied catalog.
        ///
        /// `nil` if no catalog was applied; then every product is unknown.
        package var version: Int64?
        package var catalog: Catalog
    }

    package init() {}

    private let known = Mutex(Versioned(version: nil, catalog: Catalog()))

    /// - Throws: `Unreadable` if the catalog cannot be parsed, because the records did not cause this fault.
    package func catalog(version: Int64?, _ connection: PostgresConnection) async throws -> Versioned {
        let cached = known.withLock { $0 }
        guard let version, cached.version != version else { return cached }
        let catalog = try await Self.read(version, connection)
        let read = Versioned(version: version, catalog: catalog)
        known.withLock { $0 = read }
        return read
    }

    /// An error for a stored catalog version that cannot be parsed; applying a valid version clears it.
    package struct Unreadable: Error, CustomStringConvertible {
        let version: Int64
        let error: CatalogError

        package var description: String {
            "catalog version \(version) cannot be read, apply another one (pipeline catalog apply): "
                + error.description
        }
    }

    package static func read(_ version: Int64, _ connection: PostgresConnection) async throws -> Catalog {
        let content = try await connection.run(CatalogTable.content, version)[0]
        do throws(CatalogError) { return try Catalog(json: Array(content.bytes)) } catch {
            throw Unreadable(version: version, error: error)
        }
    }

    /// The products that differ in some catalog between one version and a later one.
    ///
    /// `nil` for all products, if the first version cannot be read.
    ///
    /// Version 0 precedes the first catalog and has no products. An unreadable version in between
    /// is skipped: no purchase was projected by it.
    package static func productIDs(changedAfter first: Int64, through last: Int64, _ connection: PostgresConnection)
        async throws -> Set<Identifier>?
    {
        var changed: Set<Identifier> = []
        var former = Catalog()
        // Catalogs may be large, so each is read separately.
        for version in try await connection.run(CatalogTable.versions, (first, last)) {
            do {
                let catalog = try await read(version, connection)
                if version > first { changed.formUnion(catalog.productIDs(differingFrom: former)) }
                former = catalog
            } catch is Unreadable where version < last { if version == first { return nil } }
        }
        return changed
    }
}
