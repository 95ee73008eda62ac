package import Settings

/// The settings that only `dedupe-worker` has.
package enum DedupeSettings {
    package static let retention = Setting(
        "dedupe.retention", .duration(.seconds(3600)...(.seconds(3650 * 86_400))), default: .seconds(180 * 86_400),
        "How long an ID is remembered after its newest revision. A forgotten one is forwarded "
            + "again, and changes nothing.")
    package static let pruneInterval = Setting(
        "dedupe.prune_interval", .duration(.seconds(60)...(.seconds(30 * 86_400))), default: .seconds(6 * 3600),
        "How often IDs past their retention are deleted.")

    package static let declarations = [retention.declaration, pruneInterval.declaration]
}
