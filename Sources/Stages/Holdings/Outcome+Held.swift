package import Worker

extension Outcome {
    /// An outcome is one record; what is not of the user's entitlements fits in the rest.
    private static let heldBytesMax = 1_900_000

    /// Tells whose the record's purchase is, and what they hold in its environment.
    package mutating func tell(_ userID: String, holds held: [HeldEntitlement]) {
        let list = HeldList(held, bytesMax: Self.heldBytesMax)
        self.userID = userID
        entitlements = list.json
        omitted = list.omission?.json
    }
}
