import JSON
package import Store

/// What a user holds, written out: all of it, or where a record could not carry that, what matters
/// most of it.
package struct HeldList: Sendable {
    /// One JSON array, as `entitlements.current.schema.json` describes its elements.
    package let json: [UInt8]
    /// Nil where nothing is left out.
    package let omission: HeldOmission?

    /// Of an entitlement in a list that is not whole no more than its last periods are kept.
    private static let periodsMax = 50

    /// - Parameter bytesMax: how long the array may be.
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
            periods: kept.reduce(0) { $0 + held[$1].periods.count - shortened[$1].periods.count }
        )
    }

    /// The places of those that fit, in their order: what lasts longest comes first.
    private static func fitting(_ held: [HeldEntitlement], _ bytesMax: Int) -> [Int] {
        let places = held.indices.sorted {
            (held[$0].end ?? .max, $1) > (held[$1].end ?? .max, $0)
        }
        var rest = bytesMax - 2
        var kept: [Int] = []
        for place in places {
            // And the comma.
            rest -= json([held[place]]).count - 1
            guard rest >= 0 else { break }
            kept.append(place)
        }
        return kept.sorted()
    }

    private static func json(_ held: [HeldEntitlement]) -> [UInt8] {
        var writer = JSONWriter(reserving: 64 + held.count * 224)
        writer.beginArray()
        for entitlement in held {
            writer.entitlement(entitlement)
        }
        writer.endArray()
        return writer.bytes
    }
}
