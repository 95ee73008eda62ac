/// What an operator knows: a token, an app transaction ID or an original transaction ID is a user.
package struct AccountLink: Hashable, Sendable {
    package var kind: LinkKind
    /// The token or ID itself; a token is compared without regard to case.
    package var key: String
    /// Empty means any.
    package var environment: String
    /// Empty means any.
    package var bundleID: String
    /// Empty in a request to remove the link, whoever it names.
    package var userID: String

    package init(
        kind: LinkKind,
        key: String,
        environment: String = "",
        bundleID: String = "",
        userID: String
    ) {
        self.kind = kind
        self.key = key
        self.environment = environment
        self.bundleID = bundleID
        self.userID = userID
    }
}
