package import JSON
package import Settings

/// The result of a command: JSON for programs, lines and tables for people.
package protocol Report: JSONRepresentable { var parts: [TextPart] { get } }

/// A property of a list's rows, shown as a member of each row's JSON, a column of the table, or both.
package struct ReportColumn<Row>: Sendable {
    /// The member's name.
    ///
    /// `nil` for a property that only the table shows.
    package let name: String?
    /// The column of the table.
    ///
    /// `nil` for a property that only the JSON contains.
    package let column: TextTable.Column?
    package let value: @Sendable (Row) -> JSONContent
    package let cell: @Sendable (Row) -> String

    /// - Parameters:
    ///   - title: the column's heading; by default the name with spaces.
    ///   - lengthMax: maximum characters shown in the table.
    ///   - cell: the text for the table; by default the JSON value with grouped digits, "yes" or
    ///     "no", and a dash for null.
    package init<Value: JSONRepresentable>(
        _ name: String, title: String? = nil, rank: Int = 0, lengthMax: Int = .max,
        _ value: @escaping @Sendable (Row) -> Value, cell: (@Sendable (Row) -> String)? = nil
    ) {
        self.name = name
        let title = title ?? name.split(separator: "_").joined(separator: " ")
        column = TextTable.Column(title, Value.isNumber ? .right : .left, rank: rank)
        self.value = { value($0).json }
        let text = cell ?? { value($0).json.cell }
        self.cell = { Printable.line(text($0), lengthMax: lengthMax) }
    }

    private init(
        name: String?, column: TextTable.Column?, value: @escaping @Sendable (Row) -> JSONContent = { _ in .null },
        cell: @escaping @Sendable (Row) -> String = { _ in "" }
    ) {
        self.name = name
        self.column = column
        self.value = value
        self.cell = cell
    }

    /// Returns a member of the JSON that no table shows.
    package static func member(_ name: String, _ value: @escaping @Sendable (Row) -> some JSONRepresentable)
        -> ReportColumn
    { ReportColumn(name: name, column: nil, value: { value($0).json }) }

    /// Returns a column that only the table shows, such as one with a text for several members.
    package static func words(
        _ title: String, _ alignment: TextTable.Alignment = .left, rank: Int = 0, lengthMax: Int = .max,
        _ cell: @escaping @Sendable (Row) -> String
    ) -> ReportColumn {
        let column = TextTable.Column(title, alignment, rank: rank)
        return ReportColumn(name: nil, column: column, cell: { Printable.line(cell($0), lengthMax: lengthMax) })
    }
}

extension JSONContent {
    /// The value as shown in a table.
    fileprivate var cell: String {
        switch self {
        case .null: "-"
        case .bool(let value): value ? "yes" : "no"
        case .int(let value): Quantity.grouped(value)
        case .double(let value): "\(value)"
        case .string(let text), .time(_, let text): text
        case .array, .object, .raw: String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension TextTable {
    /// - Parameter isBad: whether a row shows a problem.
    package init<Row>(_ rows: [Row], _ columns: [ReportColumn<Row>], isBad: (Row) -> Bool = { _ in false }) {
        self.init(columns.compactMap(\.column))
        for row in rows { add(columns.cells(row), isBad: isBad(row)) }
    }
}

extension Array {
    /// Returns the texts of the columns that a table shows.
    package func cells<Row>(_ row: Row) -> [String] where Element == ReportColumn<Row> {
        filter { $0.column != nil }.map { $0.cell(row) }
    }
}

extension JSONContent {
    /// Creates the object of a list's row.
    package init<Row>(_ row: Row, _ columns: [ReportColumn<Row>]) {
        self = .object(columns.compactMap { column in column.name.map { ($0, column.value(row)) } })
    }
}

extension Console {
    /// Prints a report as JSON with `--json`, otherwise as text.
    package func print(_ report: some Report, _ arguments: CommandArguments) {
        if arguments.isSet("json") {
            print(json: report)
        } else {
            print(report.parts, isWide: arguments.isSet(CommandOption.wide.long))
        }
    }

    /// Prints a result as JSON with `--json`, otherwise as one line.
    package func print(_ json: JSONContent, or line: String, _ arguments: CommandArguments) {
        arguments.isSet("json") ? print(json: json) : print(line)
    }

    /// Prints a list: with `--json` one object per line, otherwise a table, or nothing without rows.
    package func print<Row>(
        _ rows: [Row], _ columns: [ReportColumn<Row>], _ arguments: CommandArguments,
        isBad: (Row) -> Bool = { _ in false }
    ) {
        if arguments.isSet("json") {
            rows.forEach { print(json: JSONContent($0, columns)) }
        } else if !rows.isEmpty {
            let isWide = arguments.isSet(CommandOption.wide.long)
            print(TextTable(rows, columns, isBad: isBad), isWide: isWide)
        }
    }
}
