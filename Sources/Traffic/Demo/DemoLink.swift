/// A row of `account_links` that the demo's users need.
package struct DemoLink: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case accountToken
        case appTransactionID
        case originalTransactionID
    }

    package let kind: Kind
    package let app: DemoApp
    package let value: String
    package let userID: String
}
