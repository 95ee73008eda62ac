package import AppStore
package import Records
package import Store

extension Outcome {
    /// Maximum bytes of the entitlements in an outcome; the rest of the record has room for everything else.
    private static let heldBytesMax = 1_900_000

    /// Adds the owner of the record's purchase, and the user's entitlements in its environment.
    ///
    /// - Parameter held: `nil` except for the last observation of a body. A list in each outcome
    ///   would make the answers' size quadratic in the number of observations of a body.
    package mutating func add(_ userID: Identifier, holds held: HeldEntitlements?) {
        self.userID = userID
        guard let held else { return }
        let list = HeldList(held, bytesMax: Self.heldBytesMax)
        entitlements = list.json
        asOf = Timestamp(held.asOf)
        omitted = list.omission?.json
    }
}
