package import Settings

/// The settings that only `entitle-worker` has.
package enum EntitleSettings {
    package static let shards = Setting(
        "entitle.shards", .int(1...32), default: 2, "Parallel transactions per batch, sharded by user.")

    package static let declarations = [shards.declaration]
}
