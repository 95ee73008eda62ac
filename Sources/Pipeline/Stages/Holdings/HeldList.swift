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
    package init(_ held: HeldEntitlements, bytesMax: Int) {
        let whole = Self.json(held.list, held.asOf, periodsMax: .max)
        guard whole.count > bytesMax else {
            json = whole
            omission = nil
            return
        }
        let kept = Self.fitting(held, bytesMax)
        json = Self.json(kept, held.asOf, periodsMax: Self.periodsMax)
        omission = HeldOmission(
            entitlements: held.list.count - kept.count,
            periods: kept.reduce(0) { $0 + max(0, $1.periods.count - Self.periodsMax) })
    }

    /// The entitlements that fit, in order; those that last longest are chosen first.
    private static func fitting(_ held: HeldEntitlements, _ bytesMax: Int) -> [HeldEntitlement] {
        let list = held.list
        let places = list.indices.sorted { (list[$0].end ?? .max, $1) > (list[$1].end ?? .max, $0) }
        var rest = bytesMax - 2
        var kept: [Int] = []
        for place in places {
            // The element without the brackets of its array, and a comma.
            rest -= json([list[place]], held.asOf, periodsMax: periodsMax).count - 1
            guard rest >= 0 else { break }
            kept.append(place)
        }
        return kept.sorted().map { list[$0] }
    }

    private static func json(_ held: [HeldEntitlement], _ asOf: StoredTime, periodsMax: Int) -> [UInt8] {
        var writer = JSONWriter(reserving: 64 + held.count * 256)
        writer.beginArray()
        for entitlement in held { writer.entitlement(entitlement, asOf, periodsMax: periodsMax) }
        writer.endArray()
        return writer.bytes
    }
}
