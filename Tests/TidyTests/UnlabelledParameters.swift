/// A function or an initialiser, and how many of its parameters have no label.
struct UnlabelledParameters {
    let line: Int
    let count: Int

    /// All of a file, except for callbacks of C, which have pointers among their parameters.
    static func all(in file: SourceTree.File) -> [UnlabelledParameters] {
        let tokens = SourceTokens(file).lines.enumerated().flatMap { index, line in
            line.map { (text: $0, line: index + 1) }
        }
        return tokens.indices.compactMap { start in
            let follows = start > 0 ? tokens[start - 1].text : ""
            guard tokens[start].text == "func" || tokens[start].text == "init" && follows != "." else { return nil }
            var (depth, count) = (0, 0)
            for index in tokens.indices.dropFirst(start + 1) {
                let text = tokens[index].text
                if text.contains("Pointer") { return nil }
                if ["(", "[", "{"].contains(text) { depth += 1 }
                if [")", "]", "}"].contains(text) { depth -= 1 }
                if text == "_", depth == 1, ["(", ","].contains(tokens[index - 1].text) { count += 1 }
                if text == ")", depth == 0 { break }
            }
            return UnlabelledParameters(line: tokens[start].line, count: count)
        }
    }
}
