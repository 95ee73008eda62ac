/// Columns of text, aligned for a terminal.
///
/// A cell may hold what strangers wrote: whatever of it could do more than be read is escaped.
package struct TextTable: Sendable {
    package enum Alignment: Sendable {
        case left
        case right
    }

    package struct Column: Sendable {
        package let title: String
        package let alignment: Alignment

        package init(_ title: String, _ alignment: Alignment = .left) {
            self.title = title
            self.alignment = alignment
        }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    package init(_ columns: [Column]) {
        self.columns = columns
    }

    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row with one cell for each column.
    package mutating func add(_ cells: [String]) {
        precondition(cells.count == columns.count, "a row has one cell for each column")
        rows.append(cells.map { Printable.line($0) })
    }

    /// The lines, titles first (left out where no column has one), without trailing blanks.
    package func lines(indent: Int = 0) -> [String] {
        let titles = columns.map(\.title)
        let all = titles.allSatisfy(\.isEmpty) ? rows : [titles] + rows
        let widths = columns.indices.map { column in
            all.map { $0[column].count }.max() ?? 0
        }
        return all.map { row in
            let cells = zip(zip(row, widths), columns).map { cell, column in
                pad(cell.0, to: cell.1, column.alignment)
            }
            let line = String(repeating: " ", count: indent) + cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    private func pad(_ text: String, to width: Int, _ alignment: Alignment) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return alignment == .left ? text + blanks : blanks + text
    }
}

/// Plain text for terminals.
enum TextLayout {
    static let columns = 92

    /// The text broken at spaces and at its own line breaks, each line indented and ended.
    static func wrapped(_ text: String, indent: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "\n" : wrapped(paragraph: $0, indent: indent) }
            .joined()
    }

    private static func wrapped(paragraph text: Substring, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > columns {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        lines.append(line)
        return lines.map { "\(margin)\($0)\n" }.joined()
    }

    /// Two columns, the right one wrapped.
    static func columns(_ rows: [(left: String, right: String)], indent: Int = 2) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        let rightAt = indent + width + 2
        return rows.map { left, right in
            let body = wrapped(right, indent: rightAt).dropFirst(rightAt)
            let margin = String(repeating: " ", count: indent)
            return margin + left + String(repeating: " ", count: rightAt - indent - left.count)
                + body
        }.joined()
    }
}
