package import AppStore

/// The products a company sells, and what each grants.
package struct Catalog: Hashable, Sendable {
    package private(set) var products: [String: Product]

    /// Of products with the same ID the last counts.
    package init(_ products: [Product] = []) {
        self.products = Dictionary(
            products.map { ($0.id, $0) },
            uniquingKeysWith: { _, last in last }
        )
    }

    package subscript(productID: String) -> Product? {
        products[productID]
    }

    /// The IDs of products that are not in both, or not the same in both.
    package func productIDs(differingFrom other: Catalog) -> Set<String> {
        Set(products.keys).union(other.products.keys)
            .filter { products[$0] != other.products[$0] }
    }

    /// This catalog with the products of another in the place of its own of the same IDs.
    package func completed(by other: Catalog) -> Catalog {
        var catalog = self
        catalog.products.merge(other.products) { _, completed in completed }
        return catalog
    }

    /// What a product grants: an unknown one an entitlement named by its ID, so that nothing that
    /// was bought is ever dropped.
    package func entitlementKeys(of productID: String) -> [String] {
        products[productID]?.entitlementKeys ?? [productID]
    }

    /// The type to go by: Apple's word where it is known, else the catalog's; where Apple says
    /// nothing, as in receipts, what says until when it was paid for is a subscription.
    ///
    /// A word that nobody knows yet grants nothing, whatever else is said: what it sells may be for
    /// others than the buyer. With the catalog's entry its purchases are projected anew.
    package func type(of transaction: MergedTransaction) -> ProductType? {
        if let type = transaction.type, !type.isUnknown {
            return type
        }
        if let product = products[transaction.productID] {
            return product.type
        }
        return transaction.type ?? (transaction.expiresDate == nil ? nil : .autoRenewable)
    }
}

extension ProductType {
    /// Whether it is a word that Apple has begun to use since this was written.
    package var isUnknown: Bool {
        if case .other = self { true } else { false }
    }
}
