package import Settings

/// The settings of `dedupe-worker` alone.
package enum DedupeSettings {
    package static let retention = Setting(
        "dedupe.retention",
        .duration(.seconds(3600)...(.seconds(3650 * 86_400))),
        default: .seconds(180 * 86_400),
        "How long an ID is remembered after its newest revision. What is forgotten goes on once "
            + "more when it comes again, and changes nothing."
    )
    package static let pruneInterval = Setting(
        "dedupe.prune_interval",
        .duration(.seconds(60)...(.seconds(30 * 86_400))),
        default: .seconds(6 * 3600),
        "How often the memory is gone through for what is past its retention."
    )

    package static let declarations = [retention.declaration, pruneInterval.declaration]
}
