import AppStore

/// A body that one of two verifiers accepts and the other refuses.
struct Difference: CustomStringConvertible {
    let mutation: String
    /// Nil: accepted here.
    let ours: Refusal?
    /// Whether it is ignored here, so that nothing of it is recorded.
    let isIgnored: Bool
    /// The verdict of Apple's library.
    let theirs: String

    var description: String {
        guard let ours else { return "\(mutation): \(isIgnored ? "ignored" : "accepted") here, \(theirs) there" }
        return "\(mutation): accepted there, \(ours.reason.rawValue) here: \(ours.detail)"
    }
}
