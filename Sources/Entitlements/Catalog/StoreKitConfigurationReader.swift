import AppStore
package import JSON

/// Reads an Xcode `.storekit` file and continues after a problem, so that all are reported at once.
///
/// Members that do not affect entitlements are ignored: Xcode adds some with every version.
struct StoreKitConfigurationReader {
    private(set) var problems: [CatalogProblem] = []
    private var seen: Set<Identifier> = []

    mutating func products(_ root: JSONValue) -> [Product] {
        let root = CatalogPlace(root: root)
        guard root.value?.kind == .object else {
            report(root, "expected an object, as Xcode writes it")
            return []
        }
        let products = ["products", "nonRenewingSubscriptions"].flatMap { member in
            list(root[member]).compactMap { product($0) }
        }
        return products + list(root["subscriptionGroups"]).flatMap { subscriptions(of: $0) }
    }

    private mutating func product(_ place: CatalogPlace) -> Product? {
        let id = id(of: place)
        let type: ProductType? =
            switch place["type"].value?.string {
            case "Consumable": .consumable
            case "NonConsumable": .nonConsumable
            case "NonRenewingSubscription": .nonRenewing
            default: nil
            }
        guard let type else {
            report(place["type"], "expected Consumable, NonConsumable or NonRenewingSubscription")
            return nil
        }
        guard let id else { return nil }
        return Product(
            id: id,
            type: type,
            entitlementKeys: type == .consumable ? [] : [id],
            isFamilyShareable: isFamilyShareable(place) && type != .consumable
        )
    }

    private mutating func subscriptions(of group: CatalogPlace) -> [Product] {
        let named = [group["name"], group["id"]].compactMap(\.value).first { $0.string != "" }
        let name = CatalogReader.identifier(named)
        if name == nil {
            report(group["name"], "expected a name of \(Identifier.entryRule)")
        }
        return list(group["subscriptions"]).compactMap { subscription($0, group: name) }
    }

    private mutating func subscription(_ place: CatalogPlace, group: Identifier?) -> Product? {
        let id = id(of: place)
        if place["type"].value?.string != "RecurringSubscription" {
            report(place["type"], "expected RecurringSubscription")
        }
        let level = place["groupNumber"].value?.int64 ?? 0
        if !(1...1000).contains(level) {
            report(place["groupNumber"], "expected a whole number from 1 to 1000")
        }
        let isFamilyShareable = isFamilyShareable(place)
        let offer = offer(place["introductoryOffer"])
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

    private mutating func offer(_ place: CatalogPlace) -> IntroductoryOffer? {
        guard let value = place.value, !value.isNull else { return nil }
        let mode: IntroductoryOffer.Mode? =
            switch value["paymentMode"]?.string {
            case "free": .freeTrial
            case "payAsYouGo": .payAsYouGo
            case "payUpFront": .payUpFront
            default: nil
            }
        if mode == nil {
            report(place["paymentMode"], "expected free, payAsYouGo or payUpFront")
        }
        let period = value["subscriptionPeriod"]?.string.flatMap { CalendarPeriod(iso8601: $0) }
        if period == nil {
            report(place["subscriptionPeriod"], "expected an ISO 8601 duration such as P1W")
        }
        let count = value["numberOfPeriods"].map { $0.int64 ?? 0 } ?? 1
        if !(1...100).contains(count) {
            report(place["numberOfPeriods"], "expected a whole number from 1 to 100")
        }
        guard let mode, let period else { return nil }
        return IntroductoryOffer(mode: mode, period: period, count: Int(count))
    }
}

extension StoreKitConfigurationReader {
    /// The elements of a list; empty if it is missing.
    private mutating func list(_ place: CatalogPlace) -> [CatalogPlace] {
        guard let list = place.value else { return [] }
        guard list.kind == .array else {
            report(place, "expected an array")
            return []
        }
        return place.elements
    }

    private mutating func id(of place: CatalogPlace) -> Identifier? {
        let place = place["productID"]
        guard let id = CatalogReader.identifier(place.value) else {
            report(place, "expected as product ID \(Identifier.entryRule)")
            return nil
        }
        if !seen.insert(id).inserted {
            report(place, "\(id) stands here twice")
        }
        return id
    }

    private mutating func isFamilyShareable(_ place: CatalogPlace) -> Bool {
        let place = place["familyShareable"]
        if let flag = place.value, flag.bool == nil {
            report(place, "expected true or false")
        }
        return place.value?.bool ?? false
    }

    private mutating func report(_ place: CatalogPlace, _ message: String) {
        problems.append(place.problem(message))
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
        guard reader.problems.isEmpty else { throw CatalogError(reader.problems, in: root) }
        self.init(products)
    }
}
