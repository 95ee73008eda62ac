import Foundation
import Testing

/// Every declaration in `Sources` is mentioned by other code there: what only tests mention is not
/// part of the product.
///
/// The name alone decides: a private name has to be mentioned in its file, an internal one in its
/// target, a package one anywhere. Labels and assignments do not count, since they only write.
@Suite struct UnreadDeclarationTests {
    /// Names that the language, or a protocol of the standard library, asks for.
    private static let required: Set = [
        "callAsFunction", "description", "hash", "main", "makeIterator", "unownedExecutor",
    ]

    /// Declarations that nothing in `Sources` reads, with the reason.
    private static let exceptions = [
        "markdown": "the apps' table of deploy/SETTINGS.md, which a test compares",
        "markdownTable": "a table of deploy/SETTINGS.md, which a test compares",
    ]

    /// Payloads, whose members `PayloadFields.json` reads by reflection.
    private static let reflected = "Tests/Kit/Simulation/Bodies/PayloadFields.swift"

    /// Code for tests: Apple with its customers, and a Kafka that fails.
    private static let forTests = ["Tests/Kit/Simulation/", "Tests/Kit/Wrappers/"]

    @Test func `every declaration is read by other code than tests`() {
        let sources = TidyTests.sources.map(SourceNames.init)
        let tests = TidyTests.everything.filter { $0.path.hasPrefix("Tests/") }.reduce(into: Set<String>()) {
            $0.formUnion(SourceTokens($1).lines.joined())
        }
        let everywhere = Self.mentions(sources)
        let byTarget = Dictionary(grouping: sources, by: \.target).mapValues(Self.mentions)
        let requirements = sources.reduce(into: Self.required) { $0.formUnion($1.requirements) }
        var excepted: Set<String> = []
        for file in sources where file.path != Self.reflected {
            let isForTests = Self.forTests.contains(where: file.path.hasPrefix)
            for declared in file.declarations where !requirements.contains(declared.name) {
                let mentions =
                    switch declared.scope {
                    case .file where !isForTests: file.mentions
                    case .target where !isForTests: byTarget[file.target] ?? [:]
                    default: everywhere
                    }
                guard mentions[declared.name, default: 0] <= 0, !isForTests || !tests.contains(declared.name) else {
                    continue
                }
                excepted.insert(declared.name)
                #expect(
                    Self.exceptions[declared.name] != nil,
                    "\(file.path):\(declared.line) nothing reads \(declared.name)")
            }
        }
        #expect(excepted == Set(Self.exceptions.keys), "an exception that nothing needs")
    }

    private static func mentions(_ files: [SourceNames]) -> [String: Int] {
        files.reduce(into: [:]) { $0.merge($1.mentions, uniquingKeysWith: +) }
    }

    @Test(arguments: [
        ("let unread = 1", ["unread"]), ("let read = 1\nprint(read)", []),
        ("/// About unread.\nvar unread = 1", ["unread"]),
        ("var unread = 1\nunread = 2\nself.unread = unread", ["unread"]),
        ("func unread() {}\nlog(\"unread\")", ["unread"]), ("func read() {}\nlog(\"\\(read()) of \\(\"x\")\")", []),
        ("case read, unread\nvalue == .read", ["unread"]), ("let label = 1\ncall(label: 2)", ["label"]),
        ("protocol P {\n    func required()\n}\nfunc required() {}\nlet p: P", ["p"]),
    ]) func `what nothing reads is found`(code: String, unread: [String]) {
        let file = SourceNames(SourceTree.File(path: "Sources/A/B.swift", lines: code.split(separator: "\n")))
        let found = file.declarations.filter {
            file.mentions[$0.name, default: 0] <= 0 && !file.requirements.contains($0.name)
        }
        #expect(found.map(\.name) == unread)
    }
}
