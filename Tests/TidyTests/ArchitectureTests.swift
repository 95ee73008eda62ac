import Foundation
import Testing

/// The source map names what exists, and its imports are those of `Package.swift`.
struct ArchitectureTests {
    private static let name = "Sources/ARCHITECTURE.md"
    private static let document = Result {
        try String(contentsOf: SourceTree.root.appending(path: name), encoding: .utf8)
    }

    @Test func `it has at most 250 lines`() throws {
        let lines = try Self.document.get().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 251)
    }

    /// Relative to the root, or to `Sources`.
    @Test func `each path that it names exists`() throws {
        let paths = try Self.names().filter(Self.isPath)
        #expect(paths.count > 25)
        for path in paths {
            let isThere = ["", "Sources/"].contains { folder in
                let url = SourceTree.root.appending(path: folder + path)
                return FileManager.default.fileExists(atPath: url.path)
            }
            #expect(isThere, "\(path)")
        }
    }

    @Test func `each folder of the contributors' source map exists, and none is missing`() throws {
        let url = SourceTree.root.appending(path: ".github/CONTRIBUTING.md")
        let named = try String(contentsOf: url, encoding: .utf8)
            .matches(of: /`Sources\/(?:\{([\w,]+)\}|(\w+))`/)
            .flatMap { ($0.1 ?? $0.2 ?? "").split(separator: ",").map(String.init) }
        let folders = try FileManager.default
            .contentsOfDirectory(atPath: SourceTree.root.appending(path: "Sources").path)
            .filter { name in
                name.first?.isUppercase == true && !name.hasSuffix(".md")
                    && TidyTests.cModules[name] == nil
            }
        #expect(Set(named) == Set(folders))
    }

    @Test func `each type that it names is declared`() throws {
        let known = try Self.declarations().union(Self.modules())
        let names = try Self.names().filter { name in
            !Self.isPath(name) && name.wholeMatch(of: /[A-Z]\w*[a-z]\w*(\.\w+)*/) != nil
        }
        #expect(names.count > 100)
        for name in names {
            for part in name.split(separator: ".") {
                let isKnown = known.contains(String(part))
                #expect(isKnown, "\(name)")
            }
        }
    }

    @Test func `its import map is Package.swift's`() throws {
        let rows = try Self.document.get().split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| `([\w-]+)` \| ([^|]*)\|/)
        }
        let mapped = Dictionary(rows.map { (String($0.1), Self.quoted($0.2)) }) { $1 }
        let targets = try Manifest.targets.get().values.filter { !$0.isTest }
        #expect(targets.count > 25)
        for target in targets {
            #expect(mapped[target.name] == target.dependencies, "\(target.name)")
        }
    }

    /// The texts in back quotes.
    private static func names() throws -> [String] {
        try document.get().matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }

    private static func isPath(_ name: String) -> Bool {
        name.contains("/") && !name.contains(" ") || name.hasSuffix(".swift")
            || name.hasSuffix(".md")
    }

    /// The names of types and of their members, in tests too.
    private static func declarations() throws -> Set<String> {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias", "func", "let", "var",
        ]
        var names: Set<String> = []
        for file in try SourceTree.swiftFiles(below: ["Sources", "Tests"]) {
            for line in file.lines {
                let words = line.split(separator: " ")
                if words.first == "case" {
                    names.formUnion(words.dropFirst().map(identifier))
                }
                for (word, next) in zip(words, words.dropFirst()) where keywords.contains(word) {
                    names.insert(identifier(next))
                }
            }
        }
        return names
    }

    private static func identifier(_ word: Substring) -> String {
        String(word.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    private static func modules() throws -> Set<String> {
        try Manifest.targets.get().values.reduce(into: []) { modules, target in
            modules.formUnion(target.dependencies.union([target.name]))
        }
    }

    /// The texts in back quotes in a cell.
    private static func quoted(_ cell: Substring) -> Set<String> {
        Set(cell.matches(of: /`([^`]+)`/).map { String($0.output.1) })
    }
}
