import AppStore
import JSON

/// Reads the product's own format and continues after a problem, so that all are reported at once.
struct CatalogReader {
    private(set) var problems: [CatalogProblem] = []

    /// The product with the greatest quantity that Apple can sign still fits 64 bits.
    static let amountMax: Int64 = 1_000_000_000

    static func identifier(_ value: JSONValue?) -> Identifier? {
        (value?.string).flatMap { Identifier(entering: $0) }
    }

    mutating func products(_ root: JSONValue) -> [Product] {
        guard root.kind == .object else {
            report("", "expected an object with the member products")
            return []
        }
        refuseOthers(than: ["products", "$schema"], in: root, at: "")
        guard let list = root["products"], list.kind == .object else {
            report("products", "expected an object from product ID to product")
            return []
        }
        return list.members.compactMap { key, value in
            let path = "products[\"\(key.string ?? "")\"]"
            guard let id = Self.identifier(key) else {
                report(path, "expected as product ID \(Identifier.entryRule)")
                return nil
            }
            return product(id, value, path)
        }
    }

    private mutating func product(_ id: Identifier, _ value: JSONValue, _ path: String) -> Product?
    {
        guard value.kind == .object else {
            report(path, "expected an object")
            return nil
        }
        guard let type = type(value["type"], path + ".type") else { return nil }
        var allowed = ["type"]
        var product = Product(id: id, type: type)
        switch type {
        case .consumable:
            allowed.append("credits")
            product.credits = credits(value["credits"], path + ".credits")
        case .nonRenewing:
            allowed += ["entitlements", "duration"]
            product.durations = durations(value["duration"], path + ".duration")
        case .autoRenewable:
            allowed += ["entitlements", "group", "level", "introductoryOffer"]
            product.introductoryOffer = value["introductoryOffer"].flatMap {
                offer($0, path + ".introductoryOffer")
            }
            product.subscriptionGroup = value["group"].flatMap { name($0, path + ".group") }
            product.level = value["level"].flatMap { level($0, path + ".level") }
        case .nonConsumable, .other:
            allowed.append("entitlements")
        }
        if type != .consumable {
            allowed.append("familyShareable")
            product.entitlementKeys = keys(value["entitlements"], of: id, path + ".entitlements")
            product.isFamilyShareable = flag(value["familyShareable"], path + ".familyShareable")
        }
        refuseOthers(than: allowed, in: value, at: path)
        return product
    }

    private mutating func type(_ value: JSONValue?, _ path: String) -> ProductType? {
        switch value?.string {
        case "auto-renewable": return .autoRenewable
        case "non-consumable": return .nonConsumable
        case "consumable": return .consumable
        case "non-renewing": return .nonRenewing
        default:
            report(path, "expected auto-renewable, non-consumable, consumable or non-renewing")
            return nil
        }
    }

    private mutating func keys(
        _ value: JSONValue?,
        of id: Identifier,
        _ path: String
    ) -> [Identifier] {
        guard let value else { return [id] }
        guard value.kind == .array else {
            report(path, "expected an array of entitlement keys")
            return []
        }
        var keys: [Identifier] = []
        for (index, element) in value.elements.enumerated() {
            guard let key = name(element, "\(path)[\(index)]") else { continue }
            if keys.contains(key) {
                report("\(path)[\(index)]", "\(key) stands here twice")
            }
            keys.append(key)
        }
        return keys
    }

    private mutating func credits(
        _ value: JSONValue?,
        _ path: String
    ) -> [Identifier: [EffectiveDated<Int64>]] {
        guard let value, value.kind == .object else {
            report(path, "expected an object from currency to amount")
            return [:]
        }
        var credits: [Identifier: [EffectiveDated<Int64>]] = [:]
        for (key, amounts) in value.members {
            let place = "\(path)[\"\(key.string ?? "")\"]"
            if let currency = Self.identifier(key) {
                credits[currency] = effectiveDated(amounts, "amount", place) { reader, value, at in
                    reader.amount(value, at)
                }
            } else {
                report(place, "expected as currency \(Identifier.entryRule)")
            }
        }
        return credits
    }

    private mutating func durations(
        _ value: JSONValue?,
        _ path: String
    ) -> [EffectiveDated<CalendarPeriod>] {
        if value?.isNull == true {
            return []
        }
        let durations = effectiveDated(value, "period", path) { reader, value, at in
            reader.period(value, at)
        }
        if value?.kind == .array, !durations.isEmpty, !durations.contains(where: { $0.from == nil })
        {
            report(path, "expected one entry without from, for what was sold before the others")
        }
        return durations
    }

    private mutating func amount(_ value: JSONValue?, _ path: String) -> Int64? {
        guard let amount = value?.int64, (0...Self.amountMax).contains(amount) else {
            report(path, "expected a whole number from 0 to \(Self.amountMax)")
            return nil
        }
        return amount
    }

    private mutating func period(_ value: JSONValue?, _ path: String) -> CalendarPeriod? {
        guard let period = value?.string.flatMap({ CalendarPeriod(iso8601: $0) }) else {
            report(path, "expected an ISO 8601 duration such as P1M or P1Y")
            return nil
        }
        return period
    }

    private mutating func offer(_ value: JSONValue, _ path: String) -> IntroductoryOffer? {
        refuseOthers(than: ["mode", "period", "count"], in: value, at: path)
        let mode = value["mode"]?.string.flatMap { IntroductoryOffer.Mode(rawValue: $0) }
        if mode == nil {
            let known = IntroductoryOffer.Mode.allCases.map(\.rawValue).joined(separator: ", ")
            report(path + ".mode", "expected one of \(known)")
        }
        let period = period(value["period"], path + ".period")
        let count = value["count"].map { $0.int64 ?? 0 } ?? 1
        if !(1...100).contains(count) {
            report(path + ".count", "expected a whole number from 1 to 100")
        }
        guard let mode, let period else { return nil }
        return IntroductoryOffer(mode: mode, period: period, count: Int(count))
    }

    private mutating func flag(_ value: JSONValue?, _ path: String) -> Bool {
        if let value, value.bool == nil {
            report(path, "expected true or false")
        }
        return value?.bool ?? false
    }

    private mutating func level(_ value: JSONValue, _ path: String) -> Int? {
        guard let level = value.int64, (1...1000).contains(level) else {
            report(path, "expected a whole number from 1 (the highest level of service) to 1000")
            return nil
        }
        return Int(level)
    }

    private mutating func name(_ value: JSONValue, _ path: String) -> Identifier? {
        guard let name = Self.identifier(value) else {
            report(path, "expected a string of \(Identifier.entryRule)")
            return nil
        }
        return name
    }
}

extension CatalogReader {
    /// A plain value, or a list of `{ member: value, "from": date }` with no date twice.
    private mutating func effectiveDated<Value>(
        _ value: JSONValue?,
        _ member: String,
        _ path: String,
        read: (inout CatalogReader, JSONValue?, String) -> Value?
    ) -> [EffectiveDated<Value>] {
        guard let value, value.kind == .array else {
            return read(&self, value, path).map { [EffectiveDated($0)] } ?? []
        }
        if value.count == 0 {
            report(path, "expected at least one entry")
        }
        var entries: [EffectiveDated<Value>] = []
        for (index, element) in value.elements.enumerated() {
            let place = "\(path)[\(index)]"
            refuseOthers(than: [member, "from"], in: element, at: place)
            let from = date(element["from"], place + ".from")
            if entries.contains(where: { $0.from == from }) {
                report(place + ".from", "another entry holds from the same date")
            }
            if let value = read(&self, element[member], "\(place).\(member)") {
                entries.append(EffectiveDated(value, from: from))
            }
        }
        return entries
    }

    private mutating func date(_ value: JSONValue?, _ path: String) -> Timestamp? {
        guard let value else { return nil }
        guard let date = value.string.flatMap({ Timestamp(iso8601: $0) }) else {
            report(path, "expected a date such as 2026-05-01 or 2026-05-01T00:00:00Z")
            return nil
        }
        return date
    }

    private mutating func refuseOthers(
        than allowed: [String],
        in object: JSONValue,
        at path: String
    ) {
        if object.kind != .object {
            report(path, "expected an object")
        }
        for (key, _) in object.members where !allowed.contains(where: { key.isString($0) }) {
            let place = path.isEmpty ? key.string ?? "" : "\(path).\(key.string ?? "")"
            report(place, "unknown here; expected " + allowed.joined(separator: ", "))
        }
    }

    private mutating func report(_ path: String, _ message: String) {
        problems.append(CatalogProblem(path: path, message: message))
    }
}
