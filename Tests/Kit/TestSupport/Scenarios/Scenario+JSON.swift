import AppStore
import Entitlements
import JSON
import Records
package import Simulation

extension Scenario {
    package init(name: String, _ file: ScenarioFile) throws {
        let root = file.root
        self.name = name
        defects = try Self.defects(root["fails"])
        catalog = try Catalog(file.catalog)
        catalogJSON = Array(file.catalog.rawBytes)
        let linking = root["linking"]
        rules = OwnershipRules(
            policy: try Self.policy(linking?["policy"]), tokensAreUserIDs: linking?["identity"]?.bool ?? false,
            trustsIngestion: linking?["trustsIngestion"]?.bool ?? false,
            movesRestored: linking?["movesRestored"]?.bool ?? false)
        links = try Self.links(root["links"])
        areLinksLate = root["links"]?.elements.contains { $0["linked"] != nil } ?? false
        events = file.events
        observations = try events.map { try $0.observation() }
        entitlements = try Self.entitlements(root["entitlements"])
        terms = try root["terms"].map { try Self.terms($0) }
        balances = Self.balances(root["balances"])
    }

    private static func defects(_ list: JSONValue?) throws -> [KnownDefect] {
        guard let list else { return [] }
        return try list.elements.map { sentence in
            guard let defect = KnownDefect(rawValue: sentence.string ?? "") else {
                throw ScenarioError("no defect is named \(sentence.string ?? "")")
            }
            return defect
        }
    }

    private static func policy(_ value: JSONValue?) throws -> OwnershipPolicy {
        guard let name = value?.string else { return .transfer }
        guard let policy = OwnershipPolicy(rawValue: name) else { throw ScenarioError("no policy is named \(name)") }
        return policy
    }

    private static func links(_ list: JSONValue?) throws -> AccountLinks {
        var links = AccountLinks()
        guard let list else { return links }
        for link in list.elements {
            guard let user = link["user"]?.identifier else { throw ScenarioError("a link names no user") }
            if let token = link["token"]?.string.flatMap({ AccountToken($0) }) {
                links.userByToken[token] = user
            } else if let id = link["appTransactionId"]?.identifier {
                links.userByAppTransactionID[id] = user
            } else if let id = link["originalTransactionId"]?.identifier {
                links.userByOriginalTransactionID[id] = user
            } else {
                throw ScenarioError("a link names neither a token nor an ID")
            }
        }
        return links
    }

    private static func entitlements(_ users: JSONValue?) throws -> [Identifier: [Identifier: PeriodSet]] {
        var entitlements: [Identifier: [Identifier: PeriodSet]] = [:]
        guard let users else { return entitlements }
        for (user, keys) in users.members {
            for (key, periods) in keys.members {
                let set = PeriodSet(try periods.elements.map { try period($0.string ?? "") })
                entitlements[user.identifier ?? "", default: [:]][key.identifier ?? ""] = set
            }
        }
        return entitlements
    }

    private static func terms(_ users: JSONValue) throws -> HeldTerms {
        var held: HeldTerms = [:]
        for (user, keys) in users.members {
            for (key, purchases) in keys.members {
                for (original, terms) in purchases.members {
                    let (user, key) = (user.identifier ?? "", key.identifier ?? "")
                    held[user, default: [:]][key, default: [:]][original.identifier ?? ""] = try EntitlementTerms(terms)
                }
            }
        }
        return held
    }

    /// `start/end` in ISO 8601, with `..` for an end that never comes.
    fileprivate static func period(_ text: String) throws -> Period {
        let ends = text.split(separator: "/")
        guard ends.count == 2, let start = Timestamp(iso8601: String(ends[0])) else {
            throw ScenarioError("no period: \(text)")
        }
        if ends[1] == ".." { return Period(start: start, end: nil) }
        guard let end = Timestamp(iso8601: String(ends[1])) else { throw ScenarioError("no period: \(text)") }
        return Period(start: start, end: end)
    }

    private static func balances(_ users: JSONValue?) -> [Identifier: [Identifier: Int64]] {
        var balances: [Identifier: [Identifier: Int64]] = [:]
        guard let users else { return balances }
        for (user, currencies) in users.members {
            for (currency, balance) in currencies.members {
                balances[user.identifier ?? "", default: [:]][currency.identifier ?? ""] = balance.int64
            }
        }
        return balances
    }
}

extension EntitlementTerms {
    fileprivate init(_ terms: JSONValue) throws {
        self.init(
            ownershipType: terms["ownershipType"]?.string.map { OwnershipType(rawValue: $0) },
            seats: terms["seats"]?.int64, additionalTransactionReason: terms["additionalTransactionReason"]?.string,
            status: SubscriptionStatus(
                willRenew: terms["willRenew"]?.bool, renewsTo: terms["renewsTo"]?.identifier,
                isInBillingRetry: terms["isInBillingRetry"]?.bool,
                priceIncrease: terms["priceIncrease"]?.string.flatMap {
                    SubscriptionStatus.PriceIncrease(rawValue: $0)
                }, expirationReason: terms["expirationReason"]?.string,
                grace: try terms["grace"]?.string.map { try Scenario.period($0) }))
    }
}
