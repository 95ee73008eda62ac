import AppStore

/// A body that one of two verifiers accepts and the other refuses.
struct Difference: CustomStringConvertible {
    let mutation: String
    /// The refusal here.
    ///
    /// `nil` if accepted.
    let ours: Refusal?
    /// Whether the body is ignored here, so that nothing of it is recorded.
    let isIgnored: Bool
    /// The verdict of Apple's library.
    let theirs: String

    var description: String {
        guard let ours else { return "\(mutation): \(isIgnored ? "ignored" : "accepted") here, \(theirs) there" }
        return "\(mutation): accepted there, \(ours.reason.rawValue) here: \(ours.detail)"
    }
}
