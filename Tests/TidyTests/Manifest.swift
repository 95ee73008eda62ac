import Foundation
import Testing

/// The declarations of `Package.swift`.
enum Manifest {
    struct Target {
        let name: String
        /// The path relative to the package's root.
        let folder: String
        let dependencies: Set<String>

        var isTest: Bool { folder.hasPrefix("Tests/") }
    }

    /// All targets but the C modules, by name.
    static let targets = Result { try read() }

    private static func read() throws -> [String: Target] {
        let url = SourceTree.root.appending(path: "Package.swift")
        let rooms = try String(contentsOf: url, encoding: .utf8).split(separator: "= room(")
        let targets = rooms.dropFirst().flatMap { room in
            let folder = room.firstMatch(of: /"([^"]+)"/)?.output.1 ?? ""
            return room.matches(of: /\b(?:library|executable|tests)\(\s*"([\w-]+)"(?:,\s*\[([^\]]*)\])?([^()]*)\)/).map
            { call in
                let path = call.3.firstMatch(of: /path: "([^"]+)"/)?.output.1 ?? call.1
                return Target(
                    name: String(call.1), folder: "\(folder)/\(path)",
                    dependencies: Set((call.2 ?? "").matches(of: /"([\w-]+)"/).map { String($0.output.1) }))
            }
        }
        return Dictionary(uniqueKeysWithValues: targets.map { ($0.name, $0) })
    }
}

@Suite struct ManifestTests {
    @Test func `each target depends on what its files import, and on nothing else`() throws {
        let targets = try Manifest.targets.get()
        #expect(targets.count > 40)
        let modules = Set(targets.keys).union(TidyTests.cModules.keys)
        for target in targets.values {
            let files = TidyTests.everything.filter { $0.path.hasPrefix(target.folder + "/") }
            let imported = files.reduce(into: Set<String>()) { $0.formUnion($1.imports) }
            #expect(imported.intersection(modules) == target.dependencies, "\(target.name)")
        }
    }
}

extension SourceTree.File {
    /// The modules that the file imports at any access level.
    var imports: Set<String> {
        Set(
            lines.compactMap { line in
                guard let first = line.utf8.first, first != UInt8(ascii: " ") else { return nil }
                let words = line.split(separator: " ")
                guard words.prefix(2).contains("import") else { return nil }
                return words.last.map(String.init)
            })
    }
}
