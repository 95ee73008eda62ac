/// A sentence of `Sources/Rules/AppStore/VERIFICATION.md`, with the tests that show it.
struct Rule: Sendable {
    /// Section, paragraph and sentence there, such as `JWS 2.4`.
    let place: String
    /// The sentence's gist, for a reader without the document.
    let claim: String
    /// The tests' own names, at least one.
    let tests: [String]
    /// The mutations that break it, by their names in `Tests/Mutations`; empty if the sentence
    /// allows something, or if the code cannot run without the check.
    let checks: [String]

    init(_ place: String, _ claim: String, _ tests: [String], without checks: [String] = []) {
        self.place = place
        self.claim = claim
        self.tests = tests
        self.checks = checks
    }

    static let all =
        order + steps + recognition + envelope + jws + certificates + payload + local + receipts + bounds + responders
}
