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

    package init(kind: Kind, app: DemoApp, value: String, userID: String) {
        self.kind = kind
        self.app = app
        self.value = value
        self.userID = userID
    }
}
