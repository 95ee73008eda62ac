import AppStore
package import JSON

extension Catalog {
    /// Reads the product's own catalog format.
    ///
    /// ```
    /// { "products": {
    ///     "pro.monthly": { "type": "auto-renewable", "entitlements": ["pro"],
    ///                      "group": "plans", "level": 1 },
    ///     "season":      { "type": "non-renewing", "duration": "P3M" },
    ///     "coins.100":   { "type": "consumable",
    ///                      "credits": { "coins": [ { "amount": 100 },
    ///                                              { "amount": 120, "from": "2026-05-01" } ] } }
    /// } }
    /// ```
    ///
    /// A product without `entitlements` grants one named by its ID. `credits` and `duration` are
    /// plain values or lists of values with the date from which each holds; a `duration` of null
    /// has no end. The format in full is `schemas/catalog/catalog.schema.json`.
    ///
    /// - Throws: `CatalogError` with all problems at once.
    package init(json bytes: [UInt8]) throws(CatalogError) {
        let root: JSONValue
        do {
            root = try JSONDocument(parsing: bytes).root
        } catch {
            let message = "not JSON: \(error.code) at byte \(error.offset)"
            throw CatalogError(problems: [CatalogProblem(path: "", message: message)])
        }
        try self.init(root)
    }

    /// Reads a catalog from a value of a larger document.
    package init(_ root: JSONValue) throws(CatalogError) {
        var reader = CatalogReader()
        let products = reader.products(root)
        guard reader.problems.isEmpty else {
            throw CatalogError(problems: reader.problems)
        }
        self.init(products)
    }
}
