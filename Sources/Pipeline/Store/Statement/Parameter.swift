package import Postgres

/// A named input of a statement, and its SQL.
///
/// `$name` is a value, an array of values, or the relation `unnest(…) AS name (columns)` of given
/// rows; `$name.columns` is the list of those columns, and `$name.arrays` the `unnest(…)` alone.
package struct Parameter<Input>: Sendable {
    package let name: String
    /// The types of the server's parameters; rows have one parameter for each column.
    package let types: [ParameterType]
    private let columnNames: [String]
    let bind: @Sendable (Input) -> [PostgresValue]

    package struct ParameterType: Hashable, Sendable {
        package let element: PostgresType
        package let isArray: Bool

        var sql: String { element.sqlName + (isArray ? "[]" : "") }
    }

    package static func value<Value: ColumnValue>(_ name: String, _ value: @escaping @Sendable (Input) -> Value)
        -> Parameter
    {
        Parameter(
            name: name, types: [ParameterType(element: Value.columnType, isArray: false)], columnNames: [],
            bind: { [value($0).parameter] })
    }

    /// A parameter of many values in one array, for `= ANY ($name)`.
    package static func values<Value: ColumnValue>(_ name: String, _ values: @escaping @Sendable (Input) -> [Value])
        -> Parameter
    {
        let columns: Columns<Value> = [Column(name) { $0 }]
        return Parameter(
            name: name, types: [ParameterType(element: Value.columnType, isArray: true)], columnNames: [],
            bind: { columns.arrays(values($0)) })
    }

    /// A parameter of many rows, with one array for each column.
    package static func rows<Element, Rows: Collection<Element> & SendableMetatype>(
        _ name: String, _ columns: Columns<Element>, _ rows: @escaping @Sendable (Input) -> Rows
    ) -> Parameter {
        Parameter(
            name: name, types: columns.types.map { ParameterType(element: $0, isArray: true) },
            columnNames: columns.names, bind: { columns.arrays(rows($0)) })
    }

    /// - Parameters:
    ///   - suffix: the part of the name after a dot, or an empty text.
    ///   - first: the number of this parameter's first server parameter.
    func sql(suffix: String, first: Int) -> String {
        let list = columnNames.joined(separator: ", ")
        let casts = types.enumerated().map { "$\(first + $0)::\($1.sql)" }.joined(separator: ", ")
        switch (suffix, columnNames.isEmpty) {
        case ("", true): return casts
        case ("", false): return "unnest(\(casts)) AS \(name) (\(list))"
        case ("columns", false): return list
        case ("arrays", false): return "unnest(\(casts))"
        default: preconditionFailure("a statement asks for $\(name).\(suffix)")
        }
    }
}

extension Parameter where Input: ColumnValue {
    /// A parameter whose value is the statement's whole input.
    package static func value(_ name: String) -> Parameter { value(name) { $0 } }
}

extension Parameter where Input: Collection & SendableMetatype {
    /// A parameter whose rows are the statement's whole input.
    package static func rows(_ name: String, _ columns: Columns<Input.Element>) -> Parameter {
        rows(name, columns) { $0 }
    }
}
