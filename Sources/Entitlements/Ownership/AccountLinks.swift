package import AppStore

/// The links that operators wrote, as far as they concern the purchases at hand.
package struct AccountLinks: Hashable, Sendable {
    package var userByToken: [AccountToken: String]
    package var userByAppTransactionID: [String: String]
    package var userByOriginalTransactionID: [String: String]

    package init(
        userByToken: [AccountToken: String] = [:],
        userByAppTransactionID: [String: String] = [:],
        userByOriginalTransactionID: [String: String] = [:]
    ) {
        self.userByToken = userByToken
        self.userByAppTransactionID = userByAppTransactionID
        self.userByOriginalTransactionID = userByOriginalTransactionID
    }
}
