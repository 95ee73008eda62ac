/// The four payloads that Apple signs and this product takes.
package enum PayloadKind: String, Sendable, CaseIterable {
    case transaction
    case renewalInfo
    case appTransaction
    case notification
}
