import JSON

/// A receipt that has passed every rule.
struct VerifiedReceipt {
    let contents: ReceiptContents
    /// Equal ones once.
    let records: [ReceiptRecord]
    let environment: Environment
    let bundleID: String?
    let verification: VerificationFacts

    /// One for each record; what the receipt says of the app stands in the first, and in the others
    /// too where it is short.
    func items(claims: ObservationClaims) -> [VerifiedItem] {
        let isRepeated = contents.json.range.count <= Self.repeatedBytesMax
        return records.enumerated().map { index, record in
            VerifiedItem(record, of: self, claims, naming: index == 0 || isRepeated)
        }
    }

    /// Several times what a receipt of Apple's says of the app.
    private static let repeatedBytesMax = 4 << 10
}
