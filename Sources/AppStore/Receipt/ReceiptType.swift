/// Attribute 0: which store a receipt is of.
enum ReceiptType {
    /// Nil for a name that Apple has not used so far.
    static func environment(_ name: PayloadText) -> Environment? {
        if name.equals("Production") || name.equals("ProductionVPP") {
            .production
        } else if name.equals("ProductionSandbox") || name.equals("ProductionVPPSandbox") {
            .sandbox
        } else if name.equals("Xcode") {
            .xcode
        } else {
            nil
        }
    }
}
