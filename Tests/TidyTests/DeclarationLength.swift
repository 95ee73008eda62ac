/// Finds functions, initialisers and accessors, and how many lines each has.
///
/// It relies on the formatter: a declaration that opens a brace ends at the first closing brace of
/// the same indentation.
struct DeclarationLength {
    let line: Int
    let count: Int

    static func measure(_ file: SourceTree.File) -> [DeclarationLength] {
        file.lines.indices.compactMap { start in
            let line = file.lines[start]
            guard isCallable(line) else { return nil }
            let indentation = line.prefix { $0 == " " }
            guard let end = file.lines[(start + 1)...].firstIndex(of: indentation + "}") else { return nil }
            return DeclarationLength(line: start + 1, count: end - start + 1)
        }
    }

    private static func isCallable(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard !code.hasPrefix("//"), !code.hasSuffix("}") else { return false }
        let words = code.split(separator: " ", maxSplits: 8)
        return words.contains("func")
            || words.contains { $0.hasPrefix("init(") || $0.hasPrefix("init?(") || $0 == "deinit" }
                && words.first.map { !$0.contains("=") && !$0.contains(".") } ?? false
    }
}
