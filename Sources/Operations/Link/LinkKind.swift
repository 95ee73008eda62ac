/// What a link names a user by.
package enum LinkKind: String, CaseIterable, Sendable {
    case accountToken = "account_token"
    case appTransactionID = "app_transaction_id"
    case originalTransactionID = "original_transaction_id"
}
