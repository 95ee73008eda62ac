/// Attribute 0: which store a receipt is of.
enum ReceiptType {
    /// Nil for a name that Apple has not used so far.
    static func environment(_ name: String) -> Environment? {
        func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }
        return if isNamed("Production") || isNamed("ProductionVPP") {
            .production
        } else if isNamed("ProductionSandbox") || isNamed("ProductionVPPSandbox") {
            .sandbox
        } else if isNamed("Xcode") {
            .xcode
        } else {
            nil
        }
    }
}
