import Foundation
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite struct MigratorTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    private let first = Migration(version: 1, name: "one", script: "CREATE TABLE one (i int8)")
    private let second = Migration(
        version: 2, name: "two", script: "CREATE TABLE two (i int8); INSERT INTO one VALUES (2)")

    private func tables() async throws -> [String] {
        try await connection.query(
            """
            SELECT tablename::text FROM pg_tables
            WHERE schemaname = 'public' AND tablename <> 'schema_migrations' ORDER BY 1
            """
        ).map { $0.text(0) }
    }

    @Test func `migrations are applied in order and once`() async throws {
        let report = try await Migrator([first, second]).run(on: connection)
        #expect(report.applied == [first, second])
        #expect(report.version == 2)
        let again = try await Migrator([first, second]).run(on: connection)
        #expect(again.applied == [])
        #expect(again.version == 2)
        #expect(try await connection.query("SELECT i FROM one").count == 1)
    }

    @Test func `later migrations join those applied before`() async throws {
        _ = try await Migrator([first]).run(on: connection)
        let report = try await Migrator([first, second]).run(on: connection)
        #expect(report.applied == [second])
        #expect(try await tables() == ["one", "two"])
    }

    @Test func `several processes at once apply each migration once`() async throws {
        let applied = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let connection = try await PostgresConnection.connect(options)
                    return try await Migrator([first, second]).run(on: connection).applied.count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(applied == 2)
        #expect(try await tables() == ["one", "two"])
    }

    @Test func `a migration that fails leaves nothing of its own`() async throws {
        let broken = Migration(version: 2, name: "broken", script: "CREATE TABLE two (i int8); SELECT 1 FROM nowhere;")
        let error = await #expect(throws: PostgresError.self) {
            try await Migrator([first, broken]).run(on: connection)
        }
        #expect(error?.sqlState == .undefinedTable)
        #expect(try await tables() == ["one"])
        let report = try await Migrator([first, second]).run(on: connection)
        #expect(report.applied == [second])
    }

    @Test func `a migration changed after it was applied is refused`() async throws {
        _ = try await Migrator([first]).run(on: connection)
        let changed = Migration(version: 1, name: "one", script: first.script + " ")
        let error = await #expect(throws: MigrationError.self) {
            try await Migrator([changed, second]).run(on: connection)
        }
        #expect(error?.code == .changedAfterApplied)
        #expect(error?.message.contains("one") == true)
        #expect(try await tables() == ["one"])
    }

    @Test func `a database that is newer than the program is left alone`() async throws {
        _ = try await Migrator([first, second]).run(on: connection)
        let error = await #expect(throws: MigrationError.self) { try await Migrator([first]).run(on: connection) }
        #expect(error?.code == .databaseNewer)
    }

    @Test func `the version of a database is known, even before its first migration`() async throws {
        let client = PostgresClient(options)
        #expect(try await SchemaVersion.current(client) == 0)
        _ = try await Migrator([first, second]).run(on: connection)
        #expect(try await SchemaVersion.current(client) == 2)
    }

    @Test func `each table documents its rows, their writers and their retention`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let silent = try await PostgresClient(options).query(
            """
            SELECT relname FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
              AND coalesce(obj_description(oid, 'pg_class'), '')
                  !~* 'written|rows are only ever added'
            """)
        #expect(silent.map { $0.text(0) } == [])
    }

    @Test func `the retention of each table is documented beside the migrations`() async throws {
        let page = try String(contentsOfFile: PostgresServer.migrations.path + "/README.md", encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let stated = rows.flatMap { row in row.split(separator: "|")[0].matches(of: /`([a-z_]+)`/).map { String($0.1) }
        }
        let options = try await PostgresServer.shared.migratedDatabase()
        let tables = try await PostgresClient(options).query(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        #expect(stated.sorted() == tables.map { $0.text(0) })
    }

    @Test func `the package's own migrations reach the version that its programs require`() async throws {
        let migrated = try await PostgresServer.shared.migratedDatabase()
        let version = try await SchemaVersion.current(PostgresClient(migrated))
        #expect(version == SchemaVersion.required)
    }
}
