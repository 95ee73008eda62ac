import Foundation

/// A row of the tables in `Tests/Mutations`; `apply.py` there explains the form.
struct Mutation: Sendable {
    let name: String
    let path: String
    /// The test targets that have to fail, or filters of them.
    let tests: [String]
    /// Each occurs once in the file, without the marks of the changed part.
    private(set) var texts: [String] = []

    static func all() throws -> [Mutation] {
        let folder = SourceTree.root.appending(path: "Tests/Mutations")
        let tables = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try tables.filter { $0.hasSuffix(".txt") }.flatMap { table in
            rows(of: try String(contentsOf: folder.appending(path: table), encoding: .utf8))
        }
    }

    private static func rows(of table: String) -> [Mutation] {
        var rows: [Mutation] = []
        var tests: [String] = []
        for line in table.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ").map(String.init)
            if words.first == "tests" {
                tests = Array(words.dropFirst())
            } else if !line.hasPrefix(" ") {
                rows.append(Mutation(name: words[0], path: words[1], tests: tests))
            } else if words.first != "=>" {
                rows[rows.count - 1].texts.append(line.filter { $0 != "«" && $0 != "»" })
            }
        }
        return rows
    }
}
