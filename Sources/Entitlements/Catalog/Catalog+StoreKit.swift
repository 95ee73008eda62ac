package import JSON

extension Catalog {
    /// Whether a document is an Xcode `.storekit` file and not the product's own format: its
    /// products stand in lists.
    package static func isStoreKitConfiguration(_ root: JSONValue) -> Bool {
        root["subscriptionGroups"] != nil || root["nonRenewingSubscriptions"] != nil
            || root["products"]?.kind == .array
    }

    /// Reads an Xcode `.storekit` file: products, non-renewing subscriptions, and subscription
    /// groups with their levels, family sharing and introductory offers.
    ///
    /// Such a file says neither how long a non-renewing subscription lasts nor what a consumable
    /// credits: until another catalog completes it, the former has no end and the latter credits
    /// nothing. Each product grants an entitlement named by its ID.
    ///
    /// - Throws: `CatalogError` with all problems at once.
    package init(storeKitConfiguration root: JSONValue) throws(CatalogError) {
        var reader = StoreKitConfigurationReader()
        let products = reader.products(root)
        guard reader.problems.isEmpty else {
            throw CatalogError(problems: reader.problems)
        }
        self.init(products)
    }
}
