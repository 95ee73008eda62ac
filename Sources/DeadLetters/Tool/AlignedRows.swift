/// Rows of cells, aligned for a terminal; the first row holds the titles.
struct AlignedRows {
    private var rows: [[String]]
    private let rightAligned: Set<Int>

    init(_ titles: [String], rightAligned: Set<Int> = []) {
        rows = [titles]
        self.rightAligned = rightAligned
    }

    mutating func add(_ cells: [String]) {
        precondition(cells.count == rows[0].count, "a row has a cell for each title")
        rows.append(cells)
    }

    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                if rightAligned.contains(column) {
                    return blanks + cell
                }
                return column == row.count - 1 ? cell : cell + blanks
            }
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }
}
