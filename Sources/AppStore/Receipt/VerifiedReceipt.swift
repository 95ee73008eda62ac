import JSON

/// A receipt that has passed every rule.
struct VerifiedReceipt {
    let contents: ReceiptContents
    /// Equal ones once.
    let records: [ReceiptRecord]
    let environment: Environment
    let bundleID: String?
    let verification: VerificationFacts

    /// One for each record.
    func items(claims: ObservationClaims) -> [VerifiedItem] {
        records.map { VerifiedItem($0, of: self, claims) }
    }
}
