/// Plain text for terminals.
package enum TextLayout {
    private static let width = 92

    /// Wraps text at spaces and at its line breaks; each line is indented and ends with a line break.
    package static func wrapped(_ text: String, indent: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "\n" : wrapped(paragraph: $0, indent: indent)
        }.joined()
    }

    private static func wrapped(paragraph text: Substring, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        lines.append(line)
        return lines.map { "\(margin)\($0)\n" }.joined()
    }

    /// Lays out two columns and wraps the right one.
    package static func columns(_ rows: [(left: String, right: String)], indent: Int = 2) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        let rightAt = indent + width + 2
        return rows.map { left, right in
            let body = wrapped(right, indent: rightAt).dropFirst(rightAt)
            let margin = String(repeating: " ", count: indent)
            return margin + left + String(repeating: " ", count: rightAt - indent - left.count) + body
        }.joined()
    }
}
