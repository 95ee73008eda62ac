import AppStore
package import JSON

/// A reader of an Xcode `.storekit` file, which continues after a problem, so that all problems are reported at once.
///
/// Members that do not affect entitlements are ignored: Xcode adds some with every version.
struct StoreKitConfigurationReader {
    private(set) var problems: [CatalogProblem] = []
    private var seen: Set<Identifier> = []

    mutating func products(_ root: JSONValue) -> [Product] {
        let root = CatalogNode(root: root)
        guard root.value?.kind == .object else {
            report(root, "expected an object, as Xcode writes it")
            return []
        }
        let products = ["products", "nonRenewingSubscriptions"].flatMap { member in
            list(root[member]).compactMap { product($0) }
        }
        return products + list(root["subscriptionGroups"]).flatMap { subscriptions(of: $0) }
    }

    private mutating func product(_ node: CatalogNode) -> Product? {
        let id = id(of: node)
        let type: ProductType? =
            switch node["type"].value?.string {
            case "Consumable": .consumable
            case "NonConsumable": .nonConsumable
            case "NonRenewingSubscription": .nonRenewing
            default: nil
            }
        guard let type else {
            report(node["type"], "expected Consumable, NonConsumable or NonRenewingSubscription")
            return nil
        }
        guard let id else { return nil }
        return Product(
            id: id, type: type, entitlementKeys: type == .consumable ? [] : [id],
            isFamilyShareable: isFamilyShareable(node) && type != .consumable)
    }

    private mutating func subscriptions(of group: CatalogNode) -> [Product] {
        let named = [group["name"], group["id"]].compactMap(\.value).first { $0.string != "" }
        let name = CatalogReader.identifier(named)
        if name == nil { report(group["name"], "expected a name of \(Identifier.entryRule)") }
        return list(group["subscriptions"]).compactMap { subscription($0, group: name) }
    }

    private mutating func subscription(_ node: CatalogNode, group: Identifier?) -> Product? {
        let id = id(of: node)
        if node["type"].value?.string != "RecurringSubscription" {
            report(node["type"], "expected RecurringSubscription")
        }
        let level = node["groupNumber"].value?.int64 ?? 0
        if !(1...1000).contains(level) { report(node["groupNumber"], "expected a whole number from 1 to 1000") }
        let isFamilyShareable = isFamilyShareable(node)
        let offer = offer(node["introductoryOffer"])
        guard let id else { return nil }
        return Product(
            id: id, type: .autoRenewable, entitlementKeys: [id], subscriptionGroup: group, level: Int(level),
            isFamilyShareable: isFamilyShareable, introductoryOffer: offer)
    }

    private mutating func offer(_ node: CatalogNode) -> IntroductoryOffer? {
        guard let value = node.value, !value.isNull else { return nil }
        let mode: IntroductoryOffer.Mode? =
            switch value["paymentMode"]?.string {
            case "free": .freeTrial
            case "payAsYouGo": .payAsYouGo
            case "payUpFront": .payUpFront
            default: nil
            }
        if mode == nil { report(node["paymentMode"], "expected free, payAsYouGo or payUpFront") }
        let period = value["subscriptionPeriod"]?.string.flatMap { CalendarPeriod(iso8601: $0) }
        if period == nil { report(node["subscriptionPeriod"], "expected an ISO 8601 duration such as P1W") }
        let count = value["numberOfPeriods"].map { $0.int64 ?? 0 } ?? 1
        if !(1...100).contains(count) { report(node["numberOfPeriods"], "expected a whole number from 1 to 100") }
        guard let mode, let period else { return nil }
        return IntroductoryOffer(mode: mode, period: period, count: Int(count))
    }
}

extension StoreKitConfigurationReader {
    /// The elements of a list; empty if the list is missing.
    private mutating func list(_ node: CatalogNode) -> [CatalogNode] {
        guard let list = node.value else { return [] }
        guard list.kind == .array else {
            report(node, "expected an array")
            return []
        }
        return node.elements
    }

    private mutating func id(of node: CatalogNode) -> Identifier? {
        let node = node["productID"]
        guard let id = CatalogReader.identifier(node.value) else {
            report(node, "expected as product ID \(Identifier.entryRule)")
            return nil
        }
        if !seen.insert(id).inserted { report(node, "\(id) stands here twice") }
        return id
    }

    private mutating func isFamilyShareable(_ node: CatalogNode) -> Bool {
        let node = node["familyShareable"]
        if let flag = node.value, flag.bool == nil { report(node, "expected true or false") }
        return node.value?.bool ?? false
    }

    private mutating func report(_ node: CatalogNode, _ message: String) { problems.append(node.problem(message)) }
}

extension Catalog {
    /// Whether a document is an Xcode `.storekit` file, whose products are lists, instead of the
    /// product's own format.
    package static func isStoreKitConfiguration(_ root: JSONValue) -> Bool {
        root["subscriptionGroups"] != nil || root["nonRenewingSubscriptions"] != nil || root["products"]?.kind == .array
    }

    /// Reads an Xcode `.storekit` file: products, non-renewing subscriptions, and subscription
    /// groups with their levels, family sharing and introductory offers.
    ///
    /// Such a file states neither the duration of a non-renewing subscription nor the credits of a consumable. Until
    /// another catalog adds them, the former has no end and the latter credits nothing. Each product grants an
    /// entitlement named by its ID.
    ///
    /// - Throws: `CatalogError` with all problems at once.
    package init(storeKitConfiguration root: JSONValue) throws(CatalogError) {
        var reader = StoreKitConfigurationReader()
        let products = reader.products(root)
        guard reader.problems.isEmpty else { throw CatalogError(reader.problems, in: root) }
        self.init(products)
    }
}
