package import Settings

/// The settings that only `entitle-worker` has.
package enum EntitleSettings {
    package static let shards = Setting(
        "entitle.shards", .int(1...32), default: 2, "Parallel transactions per batch, sharded by user.")

    package static let expiryNotice = Setting<Duration?>.optional(
        "entitle.expiry_notice", .duration(.seconds(60)...(.seconds(30 * 86_400))),
        "How long before the end of a period the change feed announces it once (ends_soon).")

    package static let currentSubscriptions = Setting(
        "entitle.current_subscriptions", .bool, default: false,
        "Whether entitlements.current lists each user's subscriptions too, as the view subscriptions has them; each "
            + "costs PostgreSQL about 0.2 ms whenever the user's state is published.")

    package static let declarations = [shards.declaration, expiryNotice.declaration, currentSubscriptions.declaration]
}
