package import Settings

/// The settings of `entitle-worker` alone.
package enum EntitleSettings {
    package static let lanes = Setting(
        "entitle.lanes",
        .int(1...32),
        default: 2,
        "Into how many transactions at once a batch is shared out, by purchase."
    )

    package static let declarations = [lanes.declaration]
}
