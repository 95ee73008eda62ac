import Foundation
import Testing

/// The rooms of the source tree, and the documents that describe them.
struct ArchitectureTests {
    /// The documents of the source tree, relative to its root.
    private static let documents =
        [
            "Sources/README.md", "Sources/Pipeline/DECISIONS.md", "Sources/Pipeline/Store/README.md",
            "Sources/Pipeline/Worker/README.md", "Sources/Rules/Entitlements/RULES.md",
        ] + rooms.map { "Sources/\($0)/README.md" }

    /// The rooms, the lowest first.
    private static let rooms = ["Wrappers", "Rules", "Pipeline", "Tools", "Programs"]

    private static func text(_ document: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: document), encoding: .utf8)
    }

    @Test func `the source tree opens in five rooms and a page`() throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: SourceTree.root.appending(path: "Sources").path)
        #expect(Set(found) == Set(Self.rooms + ["README.md"]))
        #expect(try Self.text("Sources/README.md").utf8.count <= 6_000)
        for room in Self.rooms {
            let lines = try Self.text("Sources/\(room)/README.md").split(separator: "\n")
            #expect(lines.count <= 40, "\(room)")
        }
    }

    /// The demo alone reaches into the kit, for its servers and its signed traffic.
    @Test func `a room imports from the rooms below it`() throws {
        let targets = try Manifest.targets.get()
        let levels = targets.mapValues { target in Self.rooms.firstIndex { target.folder.hasPrefix("Sources/\($0)/") } }
        for target in targets.values {
            guard let level = levels[target.name] ?? nil else { continue }
            for name in target.dependencies where targets[name] != nil {
                let other = levels[name] ?? nil
                let isBelow = other.map { $0 <= level } ?? (target.name == "Demonstration")
                #expect(isBelow, "\(target.name) imports \(name)")
            }
        }
        #expect(levels.values.filter { $0 != nil }.count > 30)
    }

    /// Paths may be relative to the root, to `Sources`, to a room or to the document.
    @Test func `each path that it names exists`() throws {
        var count = 0
        for document in Self.documents {
            let own = document.split(separator: "/").dropLast().joined(separator: "/") + "/"
            let folders = ["", "Sources/", own] + Self.rooms.map { "Sources/\($0)/" }
            for path in try Self.names(document).filter(Self.isPath) {
                count += 1
                let isThere = folders.contains { folder in
                    let url = SourceTree.root.appending(path: folder + path)
                    return FileManager.default.fileExists(atPath: url.path)
                }
                #expect(isThere, "\(document): \(path)")
            }
        }
        #expect(count > 25)
    }

    @Test func `each type that it names is declared`() throws {
        let known = try Self.declarations().union(Self.modules())
        var count = 0
        for document in Self.documents {
            let names = try Self.names(document).filter { name in
                !Self.isPath(name) && name.wholeMatch(of: /[A-Z]\w*[a-z]\w*(\.\w+)*/) != nil
            }
            count += names.count
            for name in names {
                for part in name.split(separator: ".") {
                    let isKnown = known.contains(String(part)) || Self.isFolder(String(part))
                    #expect(isKnown, "\(document): \(name)")
                }
            }
        }
        #expect(count > 100)
    }

    private static func isFolder(_ name: String) -> Bool {
        TidyTests.everything.contains { $0.path.contains("/\(name)/") }
    }

    /// The texts in back quotes.
    private static func names(_ document: String) throws -> [String] {
        try text(document).matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }

    private static func isPath(_ name: String) -> Bool {
        name.contains("/") && !name.contains(" ") || name.hasSuffix(".swift") || name.hasSuffix(".md")
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
                if words.first == "case" { names.formUnion(words.dropFirst().map(identifier)) }
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
}
