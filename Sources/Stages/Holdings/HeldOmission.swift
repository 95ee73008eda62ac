import JSON

/// How much of what a user holds did not fit, and where all of it can be read.
package struct HeldOmission: Hashable, Sendable {
    package let entitlements: Int
    /// Of the entitlements that are there.
    package let periods: Int

    /// As `entitlements.current.schema.json` describes it.
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
