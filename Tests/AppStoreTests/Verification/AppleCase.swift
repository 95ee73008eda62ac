import AppStore

/// A case of Apple's own suites, with the verdicts of Apple's library and ours.
///
/// The reason is given if the two differ.
struct AppleCase: CustomStringConvertible, Sendable {
    /// The case's number in the overview of Apple's suites, and its name there.
    let name: String
    let apple: String
    /// The refusal here.
    ///
    /// `nil` if accepted.
    let ours: RefusalReason?
    /// The reason for which the verdicts differ.
    ///
    /// `nil` if they agree.
    let difference: String?

    init(_ name: String, apple: String, ours: RefusalReason?, difference: String? = nil) {
        self.name = name
        self.apple = apple
        self.ours = ours
        self.difference = difference
    }

    var description: String { name }
}
