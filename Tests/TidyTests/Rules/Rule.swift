import Foundation

/// A sentence of `Sources/Rules/AppStore/VERIFICATION.md`, with the tests that show it.
struct Rule: Sendable {
    /// Section, paragraph and sentence there, such as `JWS 2.4`.
    let place: String
    /// The tests' own names, at least one.
    private(set) var tests: [String] = []
    /// The mutations that break it, by their names in `Tests/Mutations`.
    private(set) var checks: [String] = []

    /// Reads `rules.txt`, whose head explains the form.
    static func all() throws -> [Rule] {
        let file = SourceTree.root.appending(path: "Tests/TidyTests/Rules/rules.txt")
        var rules: [Rule] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            if !line.hasPrefix(" ") {
                rules.append(Rule(place: String(line.prefix { $0 != ":" })))
            } else if line.hasPrefix("  broken by: ") {
                rules[rules.count - 1].checks += line.split(separator: " ").dropFirst(2).map(String.init)
            } else {
                rules[rules.count - 1].tests.append(String(line.dropFirst(2)))
            }
        }
        return rules
    }
}
