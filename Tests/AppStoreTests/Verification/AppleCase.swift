import AppStore

/// One case of Apple's own suites: the verdict of Apple's library, ours, and why the two differ if
/// they do.
struct AppleCase: CustomStringConvertible, Sendable {
    /// The case's number in the overview of Apple's suites, and its name there.
    let name: String
    let apple: String
    /// Nil: accepted.
    let ours: RefusalReason?
    /// Nil: the verdicts agree.
    let difference: String?

    init(_ name: String, apple: String, ours: RefusalReason?, difference: String? = nil) {
        self.name = name
        self.apple = apple
        self.ours = ours
        self.difference = difference
    }

    var description: String { name }
}
