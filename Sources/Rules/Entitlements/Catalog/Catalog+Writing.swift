import AppStore
import JSON

extension Catalog {
    /// The catalog in the product's own format, sorted by product ID; its reader returns the same catalog.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("products")
            writer.object { writer in
                for (id, product) in products.sorted(by: { $0.key < $1.key }) {
                    writer.key(id.text)
                    product.write(to: &writer)
                }
            }
        }
        return writer.bytes
    }
}

extension Product {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("type")
            writer.string(typeName)
            writeRefundRules(to: &writer)
            if type == .consumable {
                writeCredits(to: &writer)
                return
            }
            writer.key("entitlements")
            writer.array { writer in for key in entitlementKeys { writer.string(key) } }
            if type == .nonRenewing {
                writer.key("duration")
                writeDurations(to: &writer)
            }
            if let subscriptionGroup {
                writer.key("group")
                writer.string(subscriptionGroup)
            }
            if let level {
                writer.key("level")
                writer.int(level)
            }
            if isFamilyShareable {
                writer.key("familyShareable")
                writer.bool(true)
            }
            introductoryOffer?.write(to: &writer)
        }
    }

    private func writeRefundRules(to writer: inout JSONWriter) {
        guard !refundRules.isEmpty else { return }
        writer.key("refundPreference")
        writer.array { writer in
            for rule in refundRules {
                writer.object { writer in
                    writer.optionalString("prefer", rule.preference?.rawValue ?? RefundPreference.none)
                    writer.optionalInt("consumedPercent", rule.consumedPercent)
                    writer.optionalInt("refundsInYear", rule.refundsInYear)
                }
            }
        }
    }

    private var typeName: String {
        switch type {
        case .autoRenewable: "auto-renewable"
        case .consumable: "consumable"
        case .nonRenewing: "non-renewing"
        case .nonConsumable, .other: "non-consumable"
        }
    }

    private func writeCredits(to writer: inout JSONWriter) {
        writer.key("credits")
        writer.object { writer in
            for (currency, amounts) in credits.sorted(by: { $0.key < $1.key }) {
                writer.key(currency.text)
                writer.array { writer in
                    for amount in amounts {
                        writer.object { writer in
                            writer.key("amount")
                            writer.int(amount.value)
                            amount.writeDate(to: &writer)
                        }
                    }
                }
            }
        }
    }

    private func writeDurations(to writer: inout JSONWriter) {
        guard !durations.isEmpty else {
            writer.null()
            return
        }
        writer.array { writer in
            for duration in durations {
                writer.object { writer in
                    writer.key("period")
                    writer.string(duration.value.iso8601)
                    duration.writeDate(to: &writer)
                }
            }
        }
    }
}

extension EffectiveDated {
    fileprivate func writeDate(to writer: inout JSONWriter) {
        if let from {
            writer.key("from")
            writer.string(from.description)
        }
    }
}

extension IntroductoryOffer {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("introductoryOffer")
        writer.object { writer in
            writer.key("mode")
            writer.string(mode.rawValue)
            writer.key("period")
            writer.string(period.iso8601)
            writer.key("count")
            writer.int(count)
        }
    }
}
