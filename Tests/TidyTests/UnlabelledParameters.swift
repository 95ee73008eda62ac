/// A function or an initialiser, with the number of its parameters without a label.
struct UnlabelledParameters {
    let line: Int
    let count: Int

    /// All functions and initialisers of a file, except callbacks of C, which take pointers.
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
