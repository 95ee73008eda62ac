package import Entitlements
package import Settings

/// The settings that only `link-worker` has.
package enum LinkSettings {
    /// The meaning of an account token.
    package enum Mode: String, CaseIterable, Sendable {
        /// The token names a user in `account_links`.
        case links
        /// The token is the user ID.
        case identity
    }

    package static let mode = Setting(
        "linking.mode", .choice, default: Mode.links,
        "How an account token becomes a user ID: `links` looks it up in account_links, `identity` "
            + "uses the token itself.")
    package static let trustsIngestUser = Setting(
        "linking.trust_ingest_user", .bool, default: false,
        "Whether the user ID in the record header user-id owns the purchase where nothing else names an owner.")
    package static let moveRestored = Setting(
        "linking.move_restored", .bool, default: false,
        "Whether a user named by the ingestion service beside a transaction that came with another user before gets "
            + "the purchase by linking.policy, as after a restore on the same Apple Account; needs "
            + "linking.trust_ingest_user.")
    package static let policy = Setting(
        "linking.policy", .choice, default: OwnershipPolicy.transfer,
        "What happens when a later transaction names another user: `transfer` (the newest owner "
            + "wins), `keep` (the first stays), `transfer_if_inactive` (the newest wins if no paid "
            + "period was running).")

    package static let declarations = [
        mode.declaration, trustsIngestUser.declaration, moveRestored.declaration, policy.declaration,
    ]

    package static func rules(_ values: SettingsValues) -> OwnershipRules {
        OwnershipRules(
            policy: values[policy], tokensAreUserIDs: values[mode] == .identity,
            trustsIngestion: values[trustsIngestUser], movesRestored: values[moveRestored])
    }
}
