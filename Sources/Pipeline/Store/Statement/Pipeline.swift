package import Postgres

/// Statements that are sent to the server together, in one round trip.
///
/// Each statement gets a token, by which its answer is read as the declared row.
package struct Pipeline {
    /// The index of a statement in a pipeline, with the type of its rows.
    package struct Token<Row> {
        fileprivate let index: Int
        fileprivate let row: RowReader<Row>?
    }

    private(set) var statements: [PostgresStatement] = []
    fileprivate private(set) var columns: [[RowColumn]] = []

    package init() {}

    package var isEmpty: Bool { statements.isEmpty }

    @discardableResult package mutating func add<Input, Row>(_ statement: Statement<Input, Row>, _ input: Input)
        -> Token<Row>
    {
        statements.append(statement.bound(to: input))
        columns.append(statement.columns)
        return Token(index: statements.count - 1, row: statement.row)
    }

    @discardableResult package mutating func add<Row>(_ statement: Statement<Void, Row>) -> Token<Row> {
        add(statement, ())
    }

    /// Adds the statement unless its input is empty.
    @discardableResult package mutating func add<Input: Collection, Row>(
        _ statement: Statement<Input, Row>, unlessEmpty input: Input
    ) -> Token<Row>? { input.isEmpty ? nil : add(statement, input) }

    fileprivate func check(_ answers: [PostgresRows]) throws(PostgresError) {
        for (rows, columns) in zip(answers, columns) where !columns.isEmpty { try rows.check(columns) }
    }
}

package struct PipelineAnswers {
    fileprivate let rows: [PostgresRows]

    package subscript<Row>(_ token: Pipeline.Token<Row>) -> Answer<Row> {
        Answer(rows: rows[token.index], row: token.row)
    }
}

/// The rows that a statement returned, each read on access.
package struct Answer<Row>: RandomAccessCollection {
    private let rows: PostgresRows
    private let row: RowReader<Row>?

    fileprivate init(rows: PostgresRows, row: RowReader<Row>?) {
        self.rows = rows
        self.row = row
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { row == nil ? 0 : rows.count }

    package subscript(position: Int) -> Row {
        guard let row else { preconditionFailure("the statement returns no row") }
        return row.read(rows[position], 0)
    }

    /// Number of rows that an INSERT, UPDATE or DELETE affected.
    package var affectedCount: Int { rows.affectedCount }
}

extension PostgresConnection {
    /// Runs a pipeline; outside of a transaction either all of its statements take effect or none.
    package nonisolated func run(_ pipeline: Pipeline, deadline: Duration? = nil) async throws -> PipelineAnswers {
        let rows = try await self.pipeline(pipeline.statements, deadline: deadline)
        try pipeline.check(rows)
        return PipelineAnswers(rows: rows)
    }

    package nonisolated func run<Input, Row>(
        _ statement: Statement<Input, Row>, _ input: Input, deadline: Duration? = nil
    ) async throws -> Answer<Row> {
        var pipeline = Pipeline()
        let token = pipeline.add(statement, input)
        return try await run(pipeline, deadline: deadline)[token]
    }

    package nonisolated func run<Row>(_ statement: Statement<Void, Row>, deadline: Duration? = nil) async throws
        -> Answer<Row>
    { try await run(statement, (), deadline: deadline) }
}

extension PostgresClient {
    package func run(_ pipeline: Pipeline) async throws -> PipelineAnswers {
        try await withConnection { try await $0.run(pipeline) }
    }

    package func run<Input, Row>(_ statement: Statement<Input, Row>, _ input: Input, deadline: Duration? = nil)
        async throws -> Answer<Row>
    { try await withConnection { try await $0.run(statement, input, deadline: deadline) } }

    package func run<Row>(_ statement: Statement<Void, Row>, deadline: Duration? = nil) async throws -> Answer<Row> {
        try await run(statement, (), deadline: deadline)
    }
}

extension PostgresRows {
    /// - Throws: an error if the columns differ from the statement's declaration.
    fileprivate func check(_ declared: [RowColumn]) throws(PostgresError) {
        guard !hasColumns(named: declared.lazy.map(\.name)) else { return }
        throw PostgresError(
            code: .unexpectedAnswer,
            message: "the answer's columns are not those that the statement declares: "
                + declared.map(\.name).joined(separator: ", "))
    }
}
