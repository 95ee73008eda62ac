package import AppStore

/// What a product of the catalog grants.
package struct Product: Hashable, Sendable {
    package var id: String
    package var type: ProductType
    /// What it grants; not for consumables.
    package var entitlementKeys: [String]
    /// Units by currency that one piece of a consumable credits.
    package var credits: [String: [EffectiveDated<Int64>]]
    /// How long one piece of a non-renewing product lasts; empty where nobody knows, so for ever.
    package var durations: [EffectiveDated<CalendarPeriod>]
    package var subscriptionGroup: String?
    /// 1 is the highest level of service within the group.
    package var level: Int?
    /// For those who read: Apple's word in each transaction decides.
    package var isFamilyShareable: Bool
    package var introductoryOffer: IntroductoryOffer?

    package init(
        id: String,
        type: ProductType,
        entitlementKeys: [String] = [],
        credits: [String: [EffectiveDated<Int64>]] = [:],
        durations: [EffectiveDated<CalendarPeriod>] = [],
        subscriptionGroup: String? = nil,
        level: Int? = nil,
        isFamilyShareable: Bool = false,
        introductoryOffer: IntroductoryOffer? = nil
    ) {
        self.id = id
        self.type = type
        self.entitlementKeys = entitlementKeys
        self.credits = credits
        self.durations = durations
        self.subscriptionGroup = subscriptionGroup
        self.level = level
        self.isFamilyShareable = isFamilyShareable
        self.introductoryOffer = introductoryOffer
    }
}
