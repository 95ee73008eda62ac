package import AppStore
package import Entitlements
package import Records
package import Simulation

/// By user, by environment and entitlement key, then by original transaction ID.
package typealias HeldTerms = [Identifier: [Identifier: [Identifier: EntitlementTerms]]]

/// One App Store situation: what Apple signs, and what each user may use because of it.
///
/// A file of `Tests/EntitlementsTests/Scenarios`, named by what happens in it.
package struct Scenario: Sendable {
    package var name: String
    /// The mistakes of other systems with which it ends otherwise.
    package var defects: [KnownDefect]
    package var catalog: Catalog
    /// The catalog as in the file.
    package var catalogJSON: [UInt8]
    package var rules: OwnershipRules
    package var links: AccountLinks
    /// Whether they are written only when everything else has come.
    package var areLinksLate: Bool
    /// As in the file.
    package var events: [ScenarioEvent]
    /// The same as observations, in the order of the file, which is that of the signed dates unless
    /// the scenario is about another.
    package var observations: [Observation]
    /// By user, then by environment and entitlement key, such as `pro` or `Sandbox/pro`.
    package var entitlements: [Identifier: [Identifier: PeriodSet]]
    /// How what they hold is held; nil if the file does not say.
    package var terms: HeldTerms?
    /// By user, then by environment and currency, such as `coins` or `Sandbox/coins`.
    package var balances: [Identifier: [Identifier: Int64]]
}
