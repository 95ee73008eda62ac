package import AppStore
package import Records
package import Store

extension Outcome {
    /// An outcome is one record; everything but the entitlements fits in the rest.
    private static let heldBytesMax = 1_900_000

    /// Adds the user behind the record's purchase, and what they hold in its environment.
    ///
    /// - Parameter held: nil for all but the last observation of a body. A list in each outcome
    ///   would make the answers grow with the square of the observations in a body.
    package mutating func add(_ userID: Identifier, holds held: [HeldEntitlement]?) {
        self.userID = userID
        guard let held else { return }
        let list = HeldList(held, bytesMax: Self.heldBytesMax)
        entitlements = list.json
        omitted = list.omission?.json
    }
}
