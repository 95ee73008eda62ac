/// What a verified body holds.
package enum VerifiedBody: Sendable {
    /// Genuine or not, there is nothing in it.
    case ignored(IgnoreReason)
    /// At least one, in the order of the body.
    case items([VerifiedItem])

    package enum IgnoreReason: String, Sendable {
        /// An API response without items.
        case emptyResponse = "empty_response"
    }
}
