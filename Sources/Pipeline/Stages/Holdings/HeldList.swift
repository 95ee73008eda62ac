import JSON
package import Store

/// The entitlements of a user as JSON: all of them, or the longest-lasting ones that fit a record.
package struct HeldList: Sendable {
    /// A JSON array; its elements follow `entitlements.current.schema.json`.
    package let json: [UInt8]
    /// The numbers of omitted entitlements and periods.
    ///
    /// `nil` if nothing is omitted.
    package let omission: HeldOmission?

    /// Maximum periods of an entitlement in an incomplete list, which keeps the last ones.
    private static let periodsMax = 50

    /// - Parameter bytesMax: maximum bytes of the array.
    package init(_ held: [HeldEntitlement], bytesMax: Int) {
        let whole = Self.json(held)
        guard whole.count > bytesMax else {
            json = whole
            omission = nil
            return
        }
        let shortened = held.map { $0.keeping(lastPeriods: Self.periodsMax) }
        let kept = Self.fitting(shortened, bytesMax)
        json = Self.json(kept.map { shortened[$0] })
        omission = HeldOmission(
            entitlements: held.count - kept.count,
            periods: kept.reduce(0) { $0 + held[$1].periods.count - shortened[$1].periods.count })
    }

    /// The indexes of the entitlements that fit, in order; those that last longest are chosen first.
    private static func fitting(_ held: [HeldEntitlement], _ bytesMax: Int) -> [Int] {
        let places = held.indices.sorted { (held[$0].end ?? .max, $1) > (held[$1].end ?? .max, $0) }
        var rest = bytesMax - 2
        var kept: [Int] = []
        for place in places {
            // The element without the brackets of its array, and a comma.
            rest -= json([held[place]]).count - 1
            guard rest >= 0 else { break }
            kept.append(place)
        }
        return kept.sorted()
    }

    private static func json(_ held: [HeldEntitlement]) -> [UInt8] {
        var writer = JSONWriter(reserving: 64 + held.count * 224)
        writer.beginArray()
        for entitlement in held { writer.entitlement(entitlement) }
        writer.endArray()
        return writer.bytes
    }
}
