import AppStore
package import JSON

/// Reads an Xcode `.storekit` file and continues after a problem, so that all are reported at once.
///
/// Members that do not affect entitlements are ignored: Xcode adds some with every version.
struct StoreKitConfigurationReader {
    private(set) var problems: [CatalogProblem] = []
    private var seen: Set<Identifier> = []

    mutating func products(_ root: JSONValue) -> [Product] {
        guard root.kind == .object else {
            report("", "expected an object, as Xcode writes it")
            return []
        }
        var products: [Product] = []
        for (value, path) in list("products", of: root, at: "") {
            products += product(value, path).map { [$0] } ?? []
        }
        for (value, path) in list("nonRenewingSubscriptions", of: root, at: "") {
            products += product(value, path).map { [$0] } ?? []
        }
        for (group, path) in list("subscriptionGroups", of: root, at: "") {
            products += subscriptions(of: group, path)
        }
        return products
    }

    private mutating func product(_ value: JSONValue, _ path: String) -> Product? {
        let id = id(of: value, path)
        let type: ProductType? =
            switch value["type"]?.string {
            case "Consumable": .consumable
            case "NonConsumable": .nonConsumable
            case "NonRenewingSubscription": .nonRenewing
            default: nil
            }
        guard let type else {
            report(
                path + ".type",
                "expected Consumable, NonConsumable or NonRenewingSubscription"
            )
            return nil
        }
        guard let id else { return nil }
        return Product(
            id: id,
            type: type,
            entitlementKeys: type == .consumable ? [] : [id],
            isFamilyShareable: isFamilyShareable(value, path) && type != .consumable
        )
    }

    private mutating func subscriptions(of group: JSONValue, _ path: String) -> [Product] {
        let named = [group["name"], group["id"]].compactMap(\.self).first { $0.string != "" }
        let name = CatalogReader.identifier(named)
        if name == nil {
            report(path + ".name", "expected a name of \(Identifier.entryRule)")
        }
        return list("subscriptions", of: group, at: path).compactMap { value, path in
            subscription(value, path, group: name)
        }
    }

    private mutating func subscription(
        _ value: JSONValue,
        _ path: String,
        group: Identifier?
    ) -> Product? {
        let id = id(of: value, path)
        if value["type"]?.string != "RecurringSubscription" {
            report(path + ".type", "expected RecurringSubscription")
        }
        let level = value["groupNumber"]?.int64 ?? 0
        if !(1...1000).contains(level) {
            report(path + ".groupNumber", "expected a whole number from 1 to 1000")
        }
        let isFamilyShareable = isFamilyShareable(value, path)
        let offer = offer(value["introductoryOffer"], path + ".introductoryOffer")
        guard let id else { return nil }
        return Product(
            id: id,
            type: .autoRenewable,
            entitlementKeys: [id],
            subscriptionGroup: group,
            level: Int(level),
            isFamilyShareable: isFamilyShareable,
            introductoryOffer: offer
        )
    }

    private mutating func offer(_ value: JSONValue?, _ path: String) -> IntroductoryOffer? {
        guard let value, !value.isNull else { return nil }
        let mode: IntroductoryOffer.Mode? =
            switch value["paymentMode"]?.string {
            case "free": .freeTrial
            case "payAsYouGo": .payAsYouGo
            case "payUpFront": .payUpFront
            default: nil
            }
        if mode == nil {
            report(path + ".paymentMode", "expected free, payAsYouGo or payUpFront")
        }
        let period = value["subscriptionPeriod"]?.string.flatMap { CalendarPeriod(iso8601: $0) }
        if period == nil {
            report(path + ".subscriptionPeriod", "expected an ISO 8601 duration such as P1W")
        }
        let count = value["numberOfPeriods"].map { $0.int64 ?? 0 } ?? 1
        if !(1...100).contains(count) {
            report(path + ".numberOfPeriods", "expected a whole number from 1 to 100")
        }
        guard let mode, let period else { return nil }
        return IntroductoryOffer(mode: mode, period: period, count: Int(count))
    }
}

extension StoreKitConfigurationReader {
    /// The elements of a list with their paths; empty if the member is missing.
    private mutating func list(
        _ member: String,
        of object: JSONValue,
        at path: String
    ) -> [(JSONValue, String)] {
        let path = path.isEmpty ? member : "\(path).\(member)"
        guard let list = object[member] else { return [] }
        guard list.kind == .array else {
            report(path, "expected an array")
            return []
        }
        return list.elements.enumerated().map { ($1, "\(path)[\($0)]") }
    }

    private mutating func id(of value: JSONValue, _ path: String) -> Identifier? {
        guard let id = CatalogReader.identifier(value["productID"]) else {
            report(path + ".productID", "expected as product ID \(Identifier.entryRule)")
            return nil
        }
        if !seen.insert(id).inserted {
            report(path + ".productID", "\(id) stands here twice")
        }
        return id
    }

    private mutating func isFamilyShareable(_ value: JSONValue, _ path: String) -> Bool {
        if let flag = value["familyShareable"], flag.bool == nil {
            report(path + ".familyShareable", "expected true or false")
        }
        return value["familyShareable"]?.bool ?? false
    }

    private mutating func report(_ path: String, _ message: String) {
        problems.append(CatalogProblem(path: path, message: message))
    }
}

extension Catalog {
    /// Whether a document is an Xcode `.storekit` file, whose products are lists, instead of the
    /// product's own format.
    package static func isStoreKitConfiguration(_ root: JSONValue) -> Bool {
        root["subscriptionGroups"] != nil || root["nonRenewingSubscriptions"] != nil
            || root["products"]?.kind == .array
    }

    /// Reads an Xcode `.storekit` file: products, non-renewing subscriptions, and subscription
    /// groups with their levels, family sharing and introductory offers.
    ///
    /// Such a file states neither how long a non-renewing subscription lasts nor what a consumable
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
