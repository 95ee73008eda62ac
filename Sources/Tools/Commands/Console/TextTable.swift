package import Settings

/// A table of text columns, aligned for a terminal.
///
/// A cell may contain untrusted text: control characters and invisible scalars are escaped.
package struct TextTable: Sendable {
    package enum Alignment: Sendable {
        case left
        case right
    }

    package struct Column: Sendable {
        package let title: String
        package let alignment: Alignment
        /// The rank; columns with the highest ranks are omitted first if there is no room.
        ///
        /// A column of rank 0 is always shown.
        package let rank: Int

        package init(_ title: String, _ alignment: Alignment = .left, rank: Int = 0) {
            self.title = title
            self.alignment = alignment
            self.rank = rank
        }
    }

    private static let gap = 2
    /// Minimum width to which a column is cut.
    private static let widthMin = 8

    private let columns: [Column]
    private var rows: [(cells: [String], isBad: Bool)] = []

    package init(_ columns: [Column]) { self.columns = columns }

    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row with one cell for each column.
    ///
    /// - Parameter isBad: whether the row shows a problem.
    package mutating func add(_ cells: [String], isBad: Bool = false) {
        precondition(cells.count == columns.count, "a row has one cell for each column")
        rows.append((cells.map { Printable.line($0) }, isBad))
    }

    /// Returns the lines with all columns at full width, without trailing blanks.
    ///
    /// The titles come first, unless no column has one.
    package func lines(indent: Int = 0) -> [String] { fitted(to: nil, indent: indent).lines.map(\.text) }

    /// Returns the lines that fit a width, and the titles of the columns omitted for it.
    ///
    /// - Parameter width: the width in terminal columns; `nil` for no limit.
    package func fitted(to width: Int?, indent: Int = 0) -> (lines: [TextLine], hidden: [String]) {
        let titles = columns.map(\.title)
        let all = titles.allSatisfy(\.isEmpty) ? rows : [(titles, false)] + rows
        var widths = columns.indices.map { column in all.map { Printable.width($0.cells[column]) }.max() ?? 0 }
        let shown = width.map { fit(&widths, to: $0 - indent) } ?? Array(columns.indices)
        let lines = all.map { row in
            let cells = shown.map { pad(row.cells[$0], to: widths[$0], columns[$0].alignment) }
            let line =
                String(repeating: " ", count: indent) + cells.joined(separator: String(repeating: " ", count: Self.gap))
            let text = String(line.reversed().drop { $0 == " " }.reversed())
            return TextLine(width.map { Printable.fitting(text, width: $0) } ?? text, isBad: row.isBad)
        }
        let hidden = columns.indices.filter { !shown.contains($0) }.map { titles[$0] }
        return (lines, hidden)
    }

    /// Omits columns by rank, then narrows the widest texts; returns the remaining columns.
    private func fit(_ widths: inout [Int], to width: Int) -> [Int] {
        var shown = Array(columns.indices)
        func excess() -> Int { shown.reduce(Self.gap * max(0, shown.count - 1)) { $0 + widths[$1] } - width }
        while excess() > 0,
            let last = shown.filter({ columns[$0].rank > 0 }).max(by: {
                (columns[$0].rank, $0) < (columns[$1].rank, $1)
            })
        { shown.removeAll { $0 == last } }
        // Only texts are cut, because a cut number would be another number.
        let texts = shown.filter { columns[$0].alignment == .left }
        while excess() > 0, let widest = texts.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.widthMin {
            let next = texts.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let step = max(1, widths[widest] - max(next, Self.widthMin))
            widths[widest] -= min(step, excess())
        }
        return shown
    }

    private func pad(_ text: String, to width: Int, _ alignment: Alignment) -> String {
        let text = Printable.fitting(text, width: width)
        let blanks = String(repeating: " ", count: max(0, width - Printable.width(text)))
        return alignment == .left ? text + blanks : blanks + text
    }
}

/// A line of a result, and whether it reports a problem.
package struct TextLine: Hashable, Sendable {
    package let text: String
    package let isBad: Bool

    package init(_ text: String, isBad: Bool = false) {
        self.text = text
        self.isBad = isBad
    }
}

/// A part of a textual result.
package enum TextPart: Sendable {
    case line(TextLine)
    case table(TextTable)

    package static let blank = TextPart.line(TextLine(""))

    package static func line(_ text: String, isBad: Bool = false) -> TextPart { .line(TextLine(text, isBad: isBad)) }
}

extension [TextPart] {
    /// Returns the lines, with tables fitted to a width, and the titles of the omitted columns.
    package func fitted(to width: Int?) -> (lines: [TextLine], hidden: [String]) {
        reduce(into: ([], [])) { result, part in
            switch part {
            case .line(let line): result.lines.append(line)
            case .table(let table):
                let (lines, hidden) = table.fitted(to: width)
                result.lines += lines
                result.hidden += hidden.filter { !$0.isEmpty }
            }
        }
    }

    /// The lines with all columns at full width.
    package var lines: [String] { fitted(to: nil).lines.map(\.text) }
}

extension CommandOption {
    /// The option of commands whose tables may be wider than the terminal.
    package static let wide = CommandOption(
        "wide", "Show all columns at their full width; without it a table fits the terminal.")
}
