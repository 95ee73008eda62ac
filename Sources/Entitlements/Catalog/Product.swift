package import AppStore

/// What a product of the catalog grants.
package struct Product: Hashable, Sendable {
    package var id: String
    package var type: ProductType
    /// What it grants; not for consumables.
    package var entitlementKeys: [String]
    /// Units by currency that one piece of a consumable credits.
    package var credits: [String: [EffectiveDated<Int64>]]
    /// How long one piece of a non-renewing product lasts.
    package var durations: [EffectiveDated<CalendarPeriod>]
    package var subscriptionGroup: String?
    /// 1 is the highest level of service within the group.
    package var level: Int?

    package init(
        id: String,
        type: ProductType,
        entitlementKeys: [String] = [],
        credits: [String: [EffectiveDated<Int64>]] = [:],
        durations: [EffectiveDated<CalendarPeriod>] = [],
        subscriptionGroup: String? = nil,
        level: Int? = nil
    ) {
        self.id = id
        self.type = type
        self.entitlementKeys = entitlementKeys
        self.credits = credits
        self.durations = durations
        self.subscriptionGroup = subscriptionGroup
        self.level = level
    }
}
