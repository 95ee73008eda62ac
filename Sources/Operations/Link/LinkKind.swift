/// What a link names a user by; the raw value is the table's word.
package enum LinkKind: String, CaseIterable, Sendable {
    case accountToken = "account_token"
    case appTransactionID = "app_transaction_id"
    case originalTransactionID = "original_transaction_id"

    /// Also takes dashes for the underscores.
    package init?(_ text: String) {
        self.init(rawValue: text.split(separator: "-").joined(separator: "_"))
    }

    static let spellings = allCases.map(\.rawValue).joined(separator: ", ")
}
