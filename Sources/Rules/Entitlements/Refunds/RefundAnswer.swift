package import AppStore
import JSON

/// A preferred outcome of a refund request ("refundPreference", App Store Server API); `nil` is no preference.
package enum RefundPreference: String, CaseIterable, Sendable {
    case decline
    case grantFull = "grant_full"
    case grantProrated = "grant_prorated"

    /// The word for no preference, in settings, catalogs and commands.
    package static let none = "none"
}

/// A rule of the catalog: the preference for a product's refund requests if all its conditions hold.
package struct RefundRule: Hashable, Sendable {
    package var preference: RefundPreference?
    /// The consumed share from which the rule holds, in percent.
    package var consumedPercent: Int32?
    /// Number of the user's other refunds within a year from which the rule holds.
    package var refundsInYear: Int64?

    package init(_ preference: RefundPreference?, consumedPercent: Int32? = nil, refundsInYear: Int64? = nil) {
        self.preference = preference
        self.consumedPercent = consumedPercent
        self.refundsInYear = refundsInYear
    }
}

/// The facts about a purchase whose refund is requested.
package struct RefundEvidence: Hashable, Sendable {
    /// The type of the product.
    ///
    /// `nil` if neither Apple nor the catalog states it.
    package var type: ProductType?
    /// Whether the purchase has an owner and is projected, and a consumable is credited.
    package var isDelivered: Bool
    /// The consumed share in milliunits, 0 to 100000.
    package var consumed: Int32
    /// Number of the user's other refunds within a year.
    package var refundsInYear: Int64
    /// Whether the user has had a free trial of the same subscription before.
    package var wasTried = false
    /// Whether Apple signed the purchase with Advanced Commerce items.
    package var isAdvancedCommerce = false

    package init(type: ProductType?, isDelivered: Bool, consumed: Int32, refundsInYear: Int64) {
        self.type = type
        self.isDelivered = isDelivered
        self.consumed = isDelivered ? consumed : 0
        self.refundsInYear = refundsInYear
    }

    package func satisfies(_ rule: RefundRule) -> Bool {
        let percent = rule.consumedPercent ?? 0
        return Int64(consumed) >= Int64(percent) * 1_000 && refundsInYear >= rule.refundsInYear ?? 0
    }
}

/// The answer to a refund request; it exists only with the customer's consent.
///
/// It is the body of "Send Consumption Information" (App Store Server API 1.19, "ConsumptionRequest"), or for a
/// purchase of Advanced Commerce, which that endpoint refuses (AdvancedCommerceTransactionNotSupportedError), of
/// "Send Consumption Information V1" ("ConsumptionRequestV1").
package struct RefundAnswer: Hashable, Sendable {
    package let isDelivered: Bool
    /// The consumed share in milliunits.
    ///
    /// `nil` for a product whose share Apple computes or does not accept, and in the first version.
    package let consumptionPercentage: Int32?
    /// The consumption in the first version ("consumptionStatus"): 1 nothing, 2 a part, 3 all; 0 if it is not stated.
    ///
    /// `nil` in the second version.
    package let consumptionStatus: Int32?
    package let preference: RefundPreference?
    package let wasTried: Bool

    /// Makes an answer that Apple accepts.
    ///
    /// An auto-renewable subscription has no percentage (ConsumptionPercentageAutoRenewableSubscriptionError), and what
    /// was not delivered has the percentage 0 ("deliveryStatus"). A prorated refund needs a share above 0 and below all
    /// ("consumptionPercentage"): without consumption it is the full refund, and after all of it none. The first
    /// version has no prorated refund, so it leaves the preference out instead ("refundPreferenceV1").
    package init(_ evidence: RefundEvidence, preference: RefundPreference?) {
        isDelivered = evidence.isDelivered
        wasTried = evidence.wasTried
        let isFirstVersion = evidence.isAdvancedCommerce
        let hasShare: Bool
        switch evidence.type {
        case .consumable, .nonConsumable, .nonRenewing: hasShare = true
        case .autoRenewable: hasShare = isFirstVersion
        case .other, nil: hasShare = false
        }
        consumptionPercentage = hasShare && !isFirstVersion ? evidence.consumed : nil
        var (preference, status) = (preference, Int32(0))
        if hasShare || !evidence.isDelivered {
            let isProrated = preference == .grantProrated
            switch evidence.consumed {
            case ..<1: (preference, status) = (isProrated ? .grantFull : preference, 1)
            case Revocation.wholePercentage...: (preference, status) = (isProrated ? .decline : preference, 3)
            default: status = 2
            }
        }
        consumptionStatus = isFirstVersion ? status : nil
        self.preference = isFirstVersion && preference == .grantProrated ? nil : preference
    }

    /// Makes the answer by the first rule whose conditions hold, or else by the app's preference.
    ///
    /// The refund of what was not delivered is never declined by a rule.
    package init(_ evidence: RefundEvidence, rules: [RefundRule], otherwise preference: RefundPreference?) {
        let rule = rules.first { evidence.satisfies($0) }
        let preferred = rule.map(\.preference) ?? preference
        self.init(evidence, preference: preferred == .decline && !evidence.isDelivered ? nil : preferred)
    }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            guard consumptionStatus == nil else { return writeFirstVersion(to: &writer) }
            writer.key("customerConsented")
            writer.bool(true)
            writer.optionalInt("consumptionPercentage", consumptionPercentage)
            writer.optionalString("deliveryStatus", isDelivered ? "DELIVERED" : "UNDELIVERED_OTHER")
            writer.optionalString("refundPreference", preference?.rawValue.uppercased())
            writer.key("sampleContentProvided")
            writer.bool(wasTried)
        }
        return writer.bytes
    }

    /// Writes the members of "ConsumptionRequestV1", all but the preference required.
    ///
    /// The pipeline does not know the members about the account and the device, which are 0, "undeclared", as their
    /// pages allow. The token may be empty ("appAccountToken"): Apple has signed it, so it learns nothing from it.
    private func writeFirstVersion(to writer: inout JSONWriter) {
        writer.optionalInt("accountTenure", 0)
        writer.optionalString("appAccountToken", "")
        writer.optionalInt("consumptionStatus", consumptionStatus)
        writer.key("customerConsented")
        writer.bool(true)
        // 5 is "not delivered for another reason" ("deliveryStatusV1").
        writer.optionalInt("deliveryStatus", isDelivered ? 0 : 5)
        for name: StaticString in ["lifetimeDollarsPurchased", "lifetimeDollarsRefunded", "platform", "playTime"] {
            writer.optionalInt(name, 0)
        }
        // 3, "no preference", is what an absent one says.
        writer.optionalInt("refundPreference", preference.map { $0 == .decline ? 2 : 1 })
        writer.key("sampleContentProvided")
        writer.bool(wasTried)
        writer.optionalInt("userStatus", 0)
    }
}
