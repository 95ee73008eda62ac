import JSON

/// The numbers of a user's entitlements and periods that did not fit, and the table that holds all.
package struct HeldOmission: Hashable, Sendable {
    package var entitlements = 0
    /// Number of omitted periods of the listed entitlements.
    package var periods = 0
    /// Whether subscriptions are omitted; the view `subscriptions` has all.
    package private(set) var areSubscriptionsOmitted = false

    /// An omission of nothing.
    package init() {}

    init(entitlements: Int, periods: Int) {
        self.entitlements = entitlements
        self.periods = periods
    }

    /// This omission, and that of subscriptions.
    package var ofSubscriptions: HeldOmission {
        var omission = self
        omission.areSubscriptionsOmitted = true
        return omission
    }

    /// The omission as JSON by `entitlements.current.schema.json`.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("entitlements")
        writer.int(entitlements)
        writer.key("periods")
        writer.int(periods)
        if areSubscriptionsOmitted {
            writer.key("subscriptions")
            writer.bool(true)
        }
        writer.key("wholeIn")
        writer.string("held_entitlements")
        writer.endObject()
        return writer.bytes
    }
}
