package import AppStore
package import Commands
package import Store

/// The lists in a plan's result that text, JSON and pages share.
package enum PlanAnswer {
    /// A product, and the number of its changed purchases.
    package typealias Product = (key: Identifier, value: Int)

    package static let products: [ReportColumn<Product>] = [
        .init("product_id", title: "product") { $0.key }, .init("purchases", title: "changed purchases") { $0.value },
    ]

    /// The lists of names, each with its title.
    package static let names: [(member: String, title: String)] = [
        ("vanishing_keys", "keys that no product grants any more"), ("new_keys", "keys that no product granted before"),
        ("unsold_products", "products without a purchase"),
        ("unknown_products", "products of purchases that the catalog lacks"),
    ]

    /// Maximum names in a text; the JSON has all.
    package static let namesShown = 20

    package static func list(_ names: [String]) -> String {
        let more = names.count > namesShown ? [" and \(Quantity.grouped(names.count - namesShown)) more"] : []
        return names.prefix(namesShown).joined(separator: ", ") + more.joined()
    }
}

extension PlanTables.Users {
    package static let numbers: [ReportColumn<Self>] = [
        .init("at", rank: 1, \.instant), .init("lost", \.lost), .init("gained", \.gained), .init("earlier", \.earlier),
        .init("later", \.later),
    ]

    /// The lists of users, each a member of the JSON.
    package static let lists: [(member: String, columns: [ReportColumn<Self>], has: @Sendable (Self) -> Bool)] = [
        (
            "keys",
            [.init("environment", rank: 2, \.environment), .init("entitlement_key", title: "key", \.key)] + numbers,
            { $0.key != nil }
        ),
        ("users_by_product", [.init("product_id", title: "product", \.productID)] + numbers, { $0.productID != nil }),
        ("users_by_rule", [.init("rule", \.rule)] + numbers, { $0.rule != nil }),
    ]
}

extension PlanTables.Balances {
    package static let columns: [ReportColumn<Self>] = [
        .init("environment", rank: 2, \.environment), .init("currency", \.currency), .init("users", \.users),
        .init("credited", \.credited), .init("debited", \.debited),
        .init("overdrawn", title: "users below zero", \.overdrawn),
    ]
}
