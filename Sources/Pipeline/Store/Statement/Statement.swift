package import Postgres

/// SQL with its input and its output, declared together.
///
/// Parameters are named in the SQL (see `Parameter`), so their order is not declared. An undeclared
/// name, or a declared name that is not used, traps at the statement's first use; a test uses all
/// statements.
package struct Statement<Input, Row>: Sendable {
    /// The SQL with the server's numbered parameters, such as `$1`.
    package let sql: String
    package let parameters: [Parameter<Input>]
    let types: [PostgresType]
    let row: RowReader<Row>?

    package init(_ parameters: [Parameter<Input>], returning row: RowReader<Row>, _ sql: String) {
        self.init(parameters, row: row, sql)
    }

    private init(_ parameters: [Parameter<Input>], row: RowReader<Row>?, _ sql: String) {
        self.parameters = parameters
        self.row = row
        types = parameters.flatMap(\.types).map { $0.isArray ? $0.element.array : $0.element }
        self.sql = Self.numbered(sql, parameters)
    }

    /// Returns the statement with its values, ready to send.
    func bound(to input: Input) -> PostgresStatement {
        PostgresStatement(sql, parameters.flatMap { $0.bind(input) }, types: types)
    }

    private static func numbered(_ sql: String, _ parameters: [Parameter<Input>]) -> String {
        var first: [Substring: Int] = [:]
        var count = 1
        for parameter in parameters {
            first[parameter.name[...]] = count
            count += parameter.types.count
        }
        var used: Set<Substring> = []
        let parts = sql.split(separator: "$", omittingEmptySubsequences: false)
        var numbered = String(parts[0])
        for part in parts.dropFirst() {
            let name = part.prefix { $0 >= "a" && $0 <= "z" || $0 == "_" }
            guard !name.isEmpty else {
                numbered += "$\(part)"
                continue
            }
            guard let parameter = parameters.first(where: { $0.name[...] == name }), let number = first[name] else {
                preconditionFailure("a statement does not declare its $\(name)")
            }
            used.insert(name)
            var rest = part[name.endIndex...]
            let suffix = ["columns", "arrays"].first { rest.hasPrefix(".\($0)") }
            if let suffix { rest = rest.dropFirst(suffix.count + 1) }
            numbered += parameter.sql(suffix: suffix ?? "", first: number) + rest
        }
        precondition(
            used.count == parameters.count, "a statement does not use all of its parameters: \(first.keys.sorted())")
        return numbered
    }
}

extension Statement where Row == Void {
    /// Creates a statement that returns only the number of affected rows.
    package init(_ parameters: [Parameter<Input>], _ sql: String) { self.init(parameters, row: nil, sql) }
}

extension Statement where Input == Void {
    package init(returning row: RowReader<Row>, _ sql: String) { self.init([], returning: row, sql) }
}

extension Statement where Input == Void, Row == Void { package init(_ sql: String) { self.init([], sql) } }

/// A statement of any input and rows, for inspecting its declaration.
package protocol DeclaredStatement: Sendable {
    var sql: String { get }
    var parameterTypes: [(element: PostgresType, isArray: Bool)] { get }
    /// The columns of the answer; empty if no rows are read.
    var columns: [RowColumn] { get }
}

extension Statement: DeclaredStatement {
    package var parameterTypes: [(element: PostgresType, isArray: Bool)] {
        parameters.flatMap(\.types).map { ($0.element, $0.isArray) }
    }

    package var columns: [RowColumn] { row?.columns ?? [] }
}
