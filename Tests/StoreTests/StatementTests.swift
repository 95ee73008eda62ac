import Foundation
import Postgres
import TestSupport
import Testing

@testable import Store

/// All declared statements, against the migrated schema.
@Suite(.timeLimit(.minutes(10))) struct StatementTests {
    private struct Undone: Error {}

    @Test func `each declared statement fits the schema, and answers with the declared columns`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let client = PostgresClient(options, connectionsMax: 1)
        try await Self.checkAll(client)
        await client.close()
    }

    /// Runs each statement on an empty schema, and takes it back.
    static func checkAll(_ client: PostgresClient) async throws {
        _ = try await client.run(CatalogProjection.begin, 1)
        try await client.withConnection { try await PlanTables.create(.linked, on: $0) }
        for statement in DeclaredStatements.all {
            do {
                try await client.transaction { connection in
                    try await check(statement, on: connection)
                    throw Undone()
                }
            } catch is Undone {} catch { Issue.record("\(error)\n\(statement.sql)") }
        }
    }

    private static func check(_ statement: any DeclaredStatement, on connection: PostgresConnection) async throws {
        let types = statement.parameterTypes
        let rows = try await connection.pipeline([
            PostgresStatement(
                statement.sql, types.map { $0.isArray ? .array(PostgresArray(of: $0.element)) : sample($0.element) },
                types: types.map { $0.isArray ? $0.element.array : $0.element })
        ])[0]
        guard !statement.columns.isEmpty else { return }
        #expect(rows.hasColumns(named: statement.columns.map(\.name)), "\(statement.sql)")
        for (index, column) in statement.columns.enumerated() {
            let type = rows.type(ofColumn: index)
            let isRead = type == column.type || integers.isSuperset(of: [type.oid, column.type.oid])
            #expect(isRead, "\(column.name) has type \(type.oid)\n\(statement.sql)")
        }
    }

    /// int8, int2 and int4: an integer of any size is read as one.
    private static let integers: Set<UInt32> = [20, 21, 23]

    private static func sample(_ type: PostgresType) -> PostgresValue {
        switch type {
        case .text: .text("Sandbox")
        case .int8: .int8(1)
        case .bool: .bool(true)
        case .float8: .float8(1)
        case .bytea: .bytea(Array("{}".utf8))
        case .json: .json(Array("{}".utf8))
        case .timestamptz: .timestamptz(milliseconds: 4_102_444_800_000)
        default: .null
        }
    }

    @Test func `the list of declared statements is whole`() throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../Sources/Pipeline/Store").standardizedFileURL
        let files = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
        let list = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "DeclaredStatements.swift")
        let listed = Set(
            try String(contentsOf: list, encoding: .utf8).split { !$0.isLetter && !$0.isNumber && $0 != "." })
        var declaredCount = 0
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            var type = ""
            for line in text.split(separator: "\n") {
                let owner = line.firstMatch(of: /^(?:package )?(?:enum|struct|extension) (\w+)/)
                type = owner.map { String($0.1) } ?? type
                let declared = line.firstMatch(of: /static let (\w+)(?:: .*)? = (?:Statement|Upsert)\b/)
                guard let name = declared?.1 else { continue }
                declaredCount += 1
                #expect(listed.contains("\(type).\(name)" as Substring), "\(file)")
            }
        }
        #expect(declaredCount > 80)
    }

    @Test func `a statement's parameters stand where the SQL names them`() throws {
        struct Pair {
            let id: Int64;
            let name: String?
        }
        let statement = Statement<(holder: String, pairs: [Pair]), Void>(
            [.rows("new", [Column("id", \.id), Column("name", \.name)], \.pairs), .value("holder", \.holder)],
            "INSERT INTO t ($new.columns) SELECT * FROM $new WHERE name <> $holder OR $holder = ''")
        let relation = "unnest($1::int8[], $2::text[]) AS new (id, name)"
        let condition = "name <> $3::text OR $3::text = ''"
        #expect(statement.sql == "INSERT INTO t (id, name) SELECT * FROM \(relation) WHERE \(condition)")
    }

    @Test func `an answer with other columns than the declared ones is refused`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let client = PostgresClient(options, connectionsMax: 1)
        let swapped = Statement<Void, String>(
            returning: RowReader({ (user, _: String) in user }, "user_id", "rule"), "SELECT 'r' AS rule, 'u' AS user_id"
        )
        await #expect { _ = try await client.run(swapped) } throws: { error in
            (error as? PostgresError)?.code == .unexpectedAnswer
        }
        await client.close()
    }
}
