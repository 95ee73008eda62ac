package import AppStore
package import JSON

/// The products of a company, with the entitlements that each grants.
package struct Catalog: Hashable, Sendable {
    package private(set) var products: [Identifier: Product]

    /// Makes a catalog; the last of several products with the same ID counts.
    package init(_ products: [Product] = []) {
        self.products = Dictionary(products.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }

    package subscript(productID: Identifier) -> Product? { products[productID] }

    /// The IDs of products that differ between the catalogs, or are missing in one catalog.
    package func productIDs(differingFrom other: Catalog) -> Set<Identifier> {
        Set(products.keys).union(other.products.keys).filter { products[$0] != other.products[$0] }
    }

    /// This catalog merged with another catalog, whose products replace those with the same IDs.
    package func completed(by other: Catalog) -> Catalog {
        var catalog = self
        catalog.products.merge(other.products) { _, completed in completed }
        return catalog
    }

    /// The entitlements that a product grants.
    ///
    /// An unknown product grants an entitlement named by its ID, so that no purchase is ever dropped.
    package func entitlementKeys(of productID: Identifier) -> [Identifier] {
        products[productID]?.entitlementKeys ?? [productID]
    }

    /// The type that the projection uses for a transaction: Apple's value if that is known.
    ///
    /// A receipt states no type at all. What Apple signs with an unknown type has the type that the
    /// catalog gives its product; without one it holds as a subscription does, grace included, if it
    /// has an end, and grants nothing without an end.
    package func type(of transaction: MergedTransaction) -> ProductType? {
        if let type = transaction.type, !type.isUnknown { return type }
        if let product = products[transaction.productID] { return product.type }
        return transaction.expiresDate == nil ? transaction.type : .autoRenewable
    }
}

extension ProductType {
    /// Whether this version does not know the value.
    package var isUnknown: Bool { if case .other = self { true } else { false } }
}

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
    /// A product without `entitlements` grants an entitlement named by its ID. `credits` and `duration` are plain
    /// values, or lists of values with their start dates; a `duration` of null has no end. The full format is
    /// `schemas/catalog/catalog.schema.json`.
    ///
    /// - Throws: `CatalogError` with all problems at once.
    package init(json bytes: [UInt8]) throws(CatalogError) { try self.init(Self.document(bytes)) }

    /// Reads a catalog's file, in either format, within the limits of catalogs.
    ///
    /// - Throws: `CatalogError` if the file is too large, or not JSON.
    package static func document(_ bytes: [UInt8]) throws(CatalogError) -> JSONValue {
        guard bytes.count <= bytesMax else { throw .tooLarge }
        do { return try JSONDocument(parsing: bytes, limits: .accepted).root } catch {
            throw CatalogError(error.explanation(in: bytes))
        }
    }

    package static let bytesMax = 16 * 1_048_576
    package static let productsMax = 100_000

    /// Reads a catalog from a value of a larger document.
    package init(_ root: JSONValue) throws(CatalogError) {
        var reader = CatalogReader()
        let products = reader.products(root)
        guard reader.problems.isEmpty else { throw CatalogError(reader.problems, in: root) }
        guard products.count <= Self.productsMax else {
            throw CatalogError("\(products.count) products, more than \(Self.productsMax), the most for a catalog")
        }
        self.init(products)
    }
}

/// The stored bytes of a catalog in the product's own format, with the catalog parsed from these bytes.
package struct StorableCatalog: Hashable, Sendable {
    package let bytes: [UInt8]
    package let catalog: Catalog

    package init(_ bytes: [UInt8]) throws(CatalogError) {
        self.bytes = bytes
        catalog = try Catalog(json: bytes)
    }
}

/// A catalog that cannot be used, with every problem found in it.
package struct CatalogError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [CatalogProblem]

    /// The error for a file of more than `Catalog.bytesMax` bytes.
    package static let tooLarge = CatalogError(
        "larger than \(Catalog.bytesMax / 1_048_576) MiB, the most for a catalog")

    /// Makes the error for a problem of the file as a whole.
    init(_ message: String) { problems = [CatalogProblem(path: "", message: message)] }

    /// Adds lines and columns to the problems of one file.
    ///
    /// - Parameter root: a value of that file.
    init(_ problems: [CatalogProblem], in root: JSONValue) {
        let positions = TextPosition.positions(of: problems.map(\.offset), in: root.documentBytes)
        self.problems = zip(problems, positions).map { problem, position in
            var problem = problem
            problem.position = position
            return problem
        }
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

package struct CatalogProblem: Hashable, Sendable, CustomStringConvertible {
    /// The path of the faulty value, such as `products["coins.100"].credits[0].amount`.
    package var path: String
    package var message: String
    /// The byte of the file at which the faulty value begins.
    var offset = 0
    /// The line and the column of the faulty value.
    ///
    /// `nil` until all problems are known, and if the message contains the position.
    package internal(set) var position: TextPosition?

    package var description: String {
        [position?.description, path.isEmpty ? nil : path, message].compactMap(\.self).joined(separator: ": ")
    }
}
