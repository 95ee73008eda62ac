import JSON

/// The numbers of a user's entitlements and periods that did not fit, and the table that holds all.
package struct HeldOmission: Hashable, Sendable {
    package let entitlements: Int
    /// Number of omitted periods of the listed entitlements.
    package let periods: Int

    /// The omission as JSON by `entitlements.current.schema.json`.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("entitlements")
        writer.int(entitlements)
        writer.key("periods")
        writer.int(periods)
        writer.key("wholeIn")
        writer.string("held_entitlements")
        writer.endObject()
        return writer.bytes
    }
}
