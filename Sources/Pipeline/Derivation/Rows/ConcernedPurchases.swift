package import AppStore
import Entitlements
package import Postgres
package import Store

/// The purchases that a change of the catalog concerns, in the order of their IDs.
package struct ConcernedPurchases {
    /// The products that differ.
    ///
    /// `nil` for all products.
    private let changed: Set<Identifier>?
    /// The last purchase that was read.
    package private(set) var last: PurchaseScope

    package struct Page {
        package let sold: [CatalogProjection.Sold]
        /// The purchases to project.
        package let scopes: [PurchaseScope]
    }

    package init(by changed: Set<Identifier>?, after last: PurchaseScope = .start) {
        self.changed = changed
        self.last = last
    }

    /// Reads the next transactions.
    ///
    /// - Returns: `nil` after the last purchase.
    package mutating func next(on connection: PostgresConnection) async throws -> Page? {
        let sold = Array(try await connection.run(CatalogProjection.sold, last))
        guard let last = sold.last?.scope else { return nil }
        self.last = last
        return Page(sold: sold, scopes: scopes(of: sold))
    }

    private func scopes(of sold: [CatalogProjection.Sold]) -> [PurchaseScope] {
        var scopes: [PurchaseScope] = []
        for sold in sold where scopes.last != sold.scope {
            if sold.productIDs.contains(where: { changed?.contains($0) ?? true }) { scopes.append(sold.scope) }
        }
        // The last purchase may have more transactions than this page.
        if sold.count == CatalogProjection.soldCountMax, scopes.last != last { scopes.append(last) }
        return scopes
    }
}
