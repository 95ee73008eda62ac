/// A customer of the demo, and what he has to end up with.
package struct DemoUser: Sendable, Hashable {
    package let userID: String
    /// In lower case; nil for a family member, who has none.
    package let accountToken: String?
    /// What Production grants at the moment the traffic was made for.
    package internal(set) var entitlements: Set<String> = []
    /// What the Sandbox grants at that moment.
    package internal(set) var sandboxEntitlements: Set<String> = []
    /// Coins credited and not taken back.
    package internal(set) var coins: Int64 = 0
}
