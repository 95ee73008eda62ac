package import AppStore

/// The entitlements and credits that a product of the catalog grants.
package struct Product: Hashable, Sendable {
    package var id: Identifier
    package var type: ProductType
    /// The granted entitlements; empty for consumables.
    package var entitlementKeys: [Identifier] = []
    /// Units by currency that one unit of a consumable credits.
    package var credits: [Identifier: [EffectiveDated<Int64>]] = [:]
    /// The duration of one unit of a non-renewing product; empty if unknown, which means no end.
    package var durations: [EffectiveDated<CalendarPeriod>] = []
    package var subscriptionGroup: Identifier?
    /// The level within the group; 1 is the highest level of service.
    package var level: Int?
    /// Whether families may share the product, only for information: the value in each transaction decides.
    package var isFamilyShareable = false
    package var introductoryOffer: IntroductoryOffer?
    /// The preferences for refund requests; the first rule whose conditions hold decides.
    package var refundRules: [RefundRule] = []
}

/// A value and the date from which it applies, so that a change does not rewrite past purchases.
package struct EffectiveDated<Value: Hashable & Sendable>: Hashable, Sendable {
    package var value: Value
    /// The date from which the value applies.
    ///
    /// `nil` if the value always applied.
    package var from: Timestamp?

    package init(_ value: Value, from: Timestamp? = nil) {
        self.value = value
        self.from = from
    }
}

extension Collection {
    /// The value at a date: the latest entry that begins at or before the date.
    package func value<Value>(at date: Timestamp) -> Value? where Element == EffectiveDated<Value> {
        var latest: EffectiveDated<Value>?
        for entry in self where entry.from.map({ $0 <= date }) ?? true {
            if (latest?.from ?? .earliest) <= (entry.from ?? .earliest) { latest = entry }
        }
        return latest?.value
    }
}

/// A subscription's offer to customers who are new to its group, only for information.
package struct IntroductoryOffer: Hashable, Sendable {
    package enum Mode: String, CaseIterable, Sendable {
        case freeTrial = "free-trial"
        case payAsYouGo = "pay-as-you-go"
        case payUpFront = "pay-up-front"
    }

    package var mode: Mode
    package var period: CalendarPeriod
    package var count = 1
}
