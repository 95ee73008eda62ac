/// Apple's extensions that say what a certificate is for; their value is not looked at.
package enum MarkerOID {
    /// On the leaf: signs receipts and transactions of the App Store.
    package static let receiptSigning = "1.2.840.113635.100.6.11.1"
    /// On the intermediate: Apple Worldwide Developer Relations.
    package static let developerRelations = "1.2.840.113635.100.6.2.1"

    static let all: Set<String> = [receiptSigning, developerRelations]
}
