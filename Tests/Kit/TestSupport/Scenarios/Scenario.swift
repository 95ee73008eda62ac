package import AppStore
package import Entitlements
package import Records
package import Simulation

/// Terms by user, by environment and entitlement key, then by original transaction ID.
package typealias HeldTerms = [Identifier: [Identifier: [Identifier: EntitlementTerms]]]

/// An App Store situation, with the bodies that Apple signs and the entitlements that follow for
/// each user.
///
/// A file of `Tests/EntitlementsTests/Scenarios`, named by what happens in it.
package struct Scenario: Sendable {
    package var name: String
    /// The mistakes of other systems with which it ends otherwise.
    package var defects: [KnownDefect]
    package var catalog: Catalog
    /// The catalog as in its file.
    package var catalogJSON: [UInt8]
    package var rules: OwnershipRules
    package var links: AccountLinks
    /// Whether the links are written only after everything else has come.
    package var areLinksLate: Bool
    /// The events as in the file.
    package var events: [ScenarioEvent]
    /// The events as observations, in the order of the file.
    ///
    /// The file has the order of the signed dates, unless the scenario is about another order.
    package var observations: [Observation]
    /// Periods by user, then by environment and entitlement key, such as `pro` or `Sandbox/pro`.
    package var entitlements: [Identifier: [Identifier: PeriodSet]]
    /// The terms of the entitlements.
    ///
    /// `nil` if the file does not state them.
    package var terms: HeldTerms?
    /// Balances by user, then by environment and currency, such as `coins` or `Sandbox/coins`.
    package var balances: [Identifier: [Identifier: Int64]]
}
