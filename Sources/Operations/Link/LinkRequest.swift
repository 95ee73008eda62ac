/// One link to write or to remove, as an operator names it.
package struct LinkRequest: Hashable, Sendable {
    package let environment: String
    package let bundleID: String
    package let kind: LinkKind
    /// The account token, app transaction ID or original transaction ID.
    package let identifier: String
    /// Nil when the link is to be removed whoever it names.
    package let userID: String?
}
