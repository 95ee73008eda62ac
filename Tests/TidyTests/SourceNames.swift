/// The names that a file declares, and those that its code mentions.
struct SourceNames {
    struct Declaration {
        enum Scope { case file, target, package }

        let name: String
        let line: Int
        let scope: Scope
    }

    let path: String
    private(set) var declarations: [Declaration] = []
    /// Number of times that each name is read, without its own declaration.
    private(set) var mentions: [String: Int] = [:]
    /// The names that the file's protocols ask for.
    private(set) var requirements: Set<String> = []

    /// The folder of the file's target.
    var target: String {
        let folders = path.split(separator: "/")
        return folders.prefix(folders[2] == "Stages" ? 4 : 3).joined(separator: "/")
    }

    init(_ file: SourceTree.File) {
        path = file.path
        var isProtocol = false
        // Whether the cases come from raw values, so that no code has to name them.
        var isRaw = false
        for (index, tokens) in SourceTokens(file).lines.enumerated() {
            if file.lines[index] == "}" { isProtocol = false }
            if tokens.contains("protocol"), tokens.last == "{" { isProtocol = true }
            if tokens.contains("enum") { isRaw = !Self.rawTypes.isDisjoint(with: tokens) }
            let declared = Self.declared(tokens)
            let cases = Self.cases(tokens)
            if isProtocol { requirements.formUnion(declared) }
            for name in declared + (isRaw ? [] : cases) {
                declarations.append(Declaration(name: name, line: index + 1, scope: Self.scope(of: tokens)))
            }
            for name in Self.read(tokens) { mentions[name, default: 0] += 1 }
            // Only where the declaration has no type, since a label does not count either.
            for name in declared + cases where !tokens.contains(after: name, ":") { mentions[name, default: 0] -= 1 }
        }
    }

    private static let rawTypes: Set = ["String", "Int32", "UInt8", "CaseIterable"]
    private static let keywords: Set = [
        "let", "var", "func", "struct", "class", "enum", "actor", "protocol", "typealias",
    ]
    private static let modifiers: Set = [
        "package", "private", "fileprivate", "internal", "static", "final", "lazy", "weak", "indirect", "mutating",
        "nonisolated", "override", "unsafe", "borrowing", "consuming",
    ]

    /// The name that a line declares.
    private static func declared(_ tokens: [String]) -> [String] {
        var rest = tokens[...]
        while let first = rest.first {
            if first == "@" {
                rest = rest.dropFirst(2)
            } else if first == "(" {
                rest = rest.drop { $0 != ")" }.dropFirst()
            } else if modifiers.contains(first) {
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        guard let keyword = rest.popFirst(), keywords.contains(keyword), let name = rest.first,
            name.first?.isLetter ?? false
        else { return [] }
        return [name]
    }

    /// The cases that a line of an enum declares; empty for the pattern of a switch.
    private static func cases(_ tokens: [String]) -> [String] {
        let rest = tokens.drop { $0 == "indirect" }
        guard rest.first == "case" else { return [] }
        var depth = 0
        let outer = rest.dropFirst().filter { token in
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            return depth == 0 && token != ")"
        }
        let parts = outer.split(separator: ",", omittingEmptySubsequences: false)
        let isEnum = parts.allSatisfy { part in
            part.first?.first?.isLetter ?? false && ["=", nil].contains(part.dropFirst().first)
        }
        return isEnum ? parts.compactMap(\.first) : []
    }

    /// The words that read a name: neither labels nor the targets of assignments.
    private static func read(_ tokens: [String]) -> [String] {
        let isOwn = tokens.starts(with: ["self", "."])
        let target = isOwn ? 2 : 0
        let isAssignment = tokens.count > target + 2 && tokens[target + 1] == "=" && tokens[target + 2] != "="
        // `self.name = name`
        if isOwn, isAssignment, tokens[3...] == ["=", tokens[2]] { return [] }
        return tokens.indices.filter { index in
            let previous = index > 0 ? tokens[index - 1] : ""
            let next = index + 1 < tokens.count ? tokens[index + 1] : ""
            let isLabel = next == ":" && previous != "." && previous != "!"
            return !isLabel && !(isAssignment && index == target)
        }.map { tokens[$0] }
    }

    private static func scope(of tokens: [String]) -> Declaration.Scope {
        for (index, token) in tokens.enumerated() where tokens.dropFirst(index + 1).first != "(" {
            if token == "private" || token == "fileprivate" { return .file }
            if token == "package" { return .package }
        }
        return .target
    }
}

extension [String] {
    fileprivate func contains(after name: String, _ token: String) -> Bool {
        firstIndex(of: name).map { dropFirst($0 + 1).first == token } ?? false
    }
}
