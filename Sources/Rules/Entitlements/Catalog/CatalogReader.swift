import AppStore
import JSON

/// A reader of the product's own format, which continues after a problem, so that all problems are reported at once.
struct CatalogReader {
    private(set) var problems: [CatalogProblem] = []

    /// Maximum amount: with it, the greatest quantity that Apple can sign still gives a total within 64 bits.
    static let amountMax: Int64 = 1_000_000_000

    static func identifier(_ value: JSONValue?) -> Identifier? { (value?.string).flatMap { Identifier(entering: $0) } }

    mutating func products(_ root: JSONValue) -> [Product] {
        let root = CatalogNode(root: root)
        guard root.value?.kind == .object else {
            report(root, "expected an object with the member products")
            return []
        }
        refuseOthers(than: ["products", "$schema"], in: root)
        let list = root["products"]
        guard list.value?.kind == .object else {
            report(list, "expected an object from product ID to product")
            return []
        }
        return list.entries.compactMap { key, node in
            guard let id = Self.identifier(key.value) else {
                report(key, "expected as product ID \(Identifier.entryRule)")
                return nil
            }
            return product(id, node)
        }
    }

    private mutating func product(_ id: Identifier, _ node: CatalogNode) -> Product? {
        guard node.value?.kind == .object else {
            report(node, "expected an object")
            return nil
        }
        guard let type = type(node["type"]) else { return nil }
        var allowed = ["type", "refundPreference"]
        var product = Product(id: id, type: type)
        product.refundRules = node.present("refundPreference").map { refundRules($0) } ?? []
        switch type {
        case .consumable:
            allowed.append("credits")
            product.credits = credits(node["credits"])
        case .nonRenewing:
            allowed += ["entitlements", "duration"]
            product.durations = durations(node["duration"])
        case .autoRenewable:
            allowed += ["entitlements", "group", "level", "introductoryOffer"]
            product.introductoryOffer = node.present("introductoryOffer").flatMap { offer($0) }
            product.subscriptionGroup = node.present("group").flatMap { name($0) }
            product.level = node.present("level").flatMap { level($0) }
        case .nonConsumable, .other: allowed.append("entitlements")
        }
        if type != .consumable {
            allowed.append("familyShareable")
            product.entitlementKeys = keys(node["entitlements"], of: id)
            product.isFamilyShareable = flag(node["familyShareable"])
        }
        refuseOthers(than: allowed, in: node)
        return product
    }

    private mutating func type(_ node: CatalogNode) -> ProductType? {
        switch node.value?.string {
        case "auto-renewable": return .autoRenewable
        case "non-consumable": return .nonConsumable
        case "consumable": return .consumable
        case "non-renewing": return .nonRenewing
        default:
            report(node, "expected auto-renewable, non-consumable, consumable or non-renewing")
            return nil
        }
    }

    private mutating func keys(_ node: CatalogNode, of id: Identifier) -> [Identifier] {
        guard let value = node.value else { return [id] }
        guard value.kind == .array else {
            report(node, "expected an array of entitlement keys")
            return []
        }
        var keys: [Identifier] = []
        for element in node.elements {
            guard let key = name(element) else { continue }
            if keys.contains(key) { report(element, "\(key) stands here twice") }
            keys.append(key)
        }
        return keys
    }

    private mutating func credits(_ node: CatalogNode) -> [Identifier: [EffectiveDated<Int64>]] {
        guard node.value?.kind == .object else {
            report(node, "expected an object from currency to amount")
            return [:]
        }
        var credits: [Identifier: [EffectiveDated<Int64>]] = [:]
        for (key, amounts) in node.entries {
            if let currency = Self.identifier(key.value) {
                credits[currency] = effectiveDated(amounts, "amount") { reader, node in reader.amount(node) }
            } else {
                report(key, "expected as currency \(Identifier.entryRule)")
            }
        }
        return credits
    }

    private mutating func durations(_ node: CatalogNode) -> [EffectiveDated<CalendarPeriod>] {
        if node.value?.isNull == true { return [] }
        let durations = effectiveDated(node, "period") { reader, node in reader.period(node) }
        if node.value?.kind == .array, !durations.isEmpty, !durations.contains(where: { $0.from == nil }) {
            report(node, "expected one entry without from, for what was sold before the others")
        }
        return durations
    }

    private mutating func amount(_ node: CatalogNode) -> Int64? {
        guard let amount = node.value?.int64, (0...Self.amountMax).contains(amount) else {
            report(node, "expected a whole number from 0 to \(Self.amountMax)")
            return nil
        }
        return amount
    }

    private mutating func period(_ node: CatalogNode) -> CalendarPeriod? {
        guard let period = node.value?.string.flatMap({ CalendarPeriod(iso8601: $0) }) else {
            report(node, "expected an ISO 8601 duration such as P1M or P1Y")
            return nil
        }
        return period
    }

    private mutating func offer(_ node: CatalogNode) -> IntroductoryOffer? {
        refuseOthers(than: ["mode", "period", "count"], in: node)
        let mode = node["mode"].value?.string.flatMap { IntroductoryOffer.Mode(rawValue: $0) }
        if mode == nil {
            let known = IntroductoryOffer.Mode.allCases.map(\.rawValue).joined(separator: ", ")
            report(node["mode"], "expected one of \(known)")
        }
        let period = period(node["period"])
        let count = node["count"].value.map { $0.int64 ?? 0 } ?? 1
        if !(1...100).contains(count) { report(node["count"], "expected a whole number from 1 to 100") }
        guard let mode, let period else { return nil }
        return IntroductoryOffer(mode: mode, period: period, count: Int(count))
    }

    /// Reads a preference, or a list of preferences with conditions.
    private mutating func refundRules(_ node: CatalogNode) -> [RefundRule] {
        guard node.value?.kind == .array else { return [RefundRule(preference(node))] }
        return node.elements.map { element in
            refuseOthers(than: ["prefer", "consumedPercent", "refundsInYear"], in: element)
            return RefundRule(
                preference(element["prefer"]),
                consumedPercent: element.present("consumedPercent").map { Int32(number($0, upTo: 100)) },
                refundsInYear: element.present("refundsInYear").map { number($0, upTo: 1_000) })
        }
    }

    private mutating func preference(_ node: CatalogNode) -> RefundPreference? {
        let preference = node.value?.string.flatMap { RefundPreference(rawValue: $0) }
        if preference == nil, node.value?.string != RefundPreference.none {
            let known = RefundPreference.allCases.map(\.rawValue) + [RefundPreference.none]
            report(node, "expected one of " + known.joined(separator: ", "))
        }
        return preference
    }

    private mutating func number(_ node: CatalogNode, upTo most: Int64) -> Int64 {
        guard let number = node.value?.int64, (1...most).contains(number) else {
            report(node, "expected a whole number from 1 to \(most)")
            return 1
        }
        return number
    }

    private mutating func flag(_ node: CatalogNode) -> Bool {
        if let value = node.value, value.bool == nil { report(node, "expected true or false") }
        return node.value?.bool ?? false
    }

    private mutating func level(_ node: CatalogNode) -> Int? {
        guard let level = node.value?.int64, (1...1000).contains(level) else {
            report(node, "expected a whole number from 1 (the highest level of service) to 1000")
            return nil
        }
        return Int(level)
    }

    private mutating func name(_ node: CatalogNode) -> Identifier? {
        guard let name = Self.identifier(node.value) else {
            report(node, "expected a string of \(Identifier.entryRule)")
            return nil
        }
        return name
    }
}

extension CatalogReader {
    /// Reads a plain value, or a list of `{ member: value, "from": date }` with distinct dates.
    private mutating func effectiveDated<Value>(
        _ node: CatalogNode, _ member: String, read: (inout CatalogReader, CatalogNode) -> Value?
    ) -> [EffectiveDated<Value>] {
        guard let list = node.value, list.kind == .array else {
            return read(&self, node).map { [EffectiveDated($0)] } ?? []
        }
        if list.count == 0 { report(node, "expected at least one entry") }
        var entries: [EffectiveDated<Value>] = []
        for element in node.elements {
            refuseOthers(than: [member, "from"], in: element)
            let from = date(element["from"])
            if entries.contains(where: { $0.from == from }) {
                report(element["from"], "another entry holds from the same date")
            }
            if let value = read(&self, element[member]) { entries.append(EffectiveDated(value, from: from)) }
        }
        return entries
    }

    private mutating func date(_ node: CatalogNode) -> Timestamp? {
        guard let value = node.value else { return nil }
        guard let date = value.string.flatMap({ Timestamp(iso8601: $0) }) else {
            report(node, "expected a date such as 2026-05-01 or 2026-05-01T00:00:00Z")
            return nil
        }
        return date
    }

    private mutating func refuseOthers(than allowed: [String], in node: CatalogNode) {
        guard let object = node.value, object.kind == .object else { return report(node, "expected an object") }
        for (key, _) in object.members where !allowed.contains(where: { key.isString($0) }) {
            let other = node[key.string ?? ""]
            report(other, "unknown here; expected " + allowed.joined(separator: ", "))
        }
    }

    private mutating func report(_ node: CatalogNode, _ message: String) { problems.append(node.problem(message)) }
}
