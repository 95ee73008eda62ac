import JSON

/// The number of a user's entitlements that did not fit, and the place where all can be read.
package struct HeldOmission: Hashable, Sendable {
    package let entitlements: Int
    /// The omitted periods of the entitlements in the list.
    package let periods: Int

    /// JSON by `entitlements.current.schema.json`.
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
