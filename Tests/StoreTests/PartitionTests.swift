import Foundation
import Postgres
import TestSupport
import Testing

@testable import Store

/// `deploy/postgres/partitions.sql`: the same schema for every program, in partitions.
@Suite(.timeLimit(.minutes(10))) struct PartitionTests {
    private static func script() throws -> String {
        try String(
            contentsOfFile: PostgresServer.migrations.path + "/../../deploy/postgres/partitions.sql", encoding: .utf8)
    }

    private static let partitioned = """
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'p' ORDER BY 1
        """

    /// The rights on each table and view, and on their columns; partitions have none.
    private static let rights = """
        SELECT relname || ' ' || field || ' ' || grantee::regrole || ' ' || privilege_type
        FROM (
            SELECT pg_class.*, '' AS field, relacl AS acl FROM pg_class
            UNION ALL SELECT pg_class.*, attname, attacl FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        ) AS known, aclexplode(acl)
        WHERE relnamespace = 'public'::regnamespace AND NOT relispartition ORDER BY 1
        """

    private static let facts = """
        INSERT INTO transactions (
            environment, bundle_id, transaction_id, track, signed_date_ms, content_hash, trust,
            original_transaction_id, product_id, purchase_date_ms)
        SELECT 'Production', 'app', number::text, 'jws', number, sha256(number::text::bytea),
            'apple', (number / 3)::text, 'pro', number
        FROM generate_series(1, 999) AS number;
        INSERT INTO entitlements
        SELECT 'Production', 'app', number::text, 'pro', 'user-' || number, '{[2020-01-01,)}'
        FROM generate_series(1, 333) AS number;
        """

    private func lines(_ sql: String, _ connection: PostgresConnection) async throws -> [String] {
        try await connection.query(sql).map { $0.text(0) }
    }

    @Test func `partitions leave names, columns, keys, rights and rows as they were`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        let prefix = "p\(UUID().uuidString.prefix(8).lowercased())-"
        let roles = DatabaseRole.script(DatabaseRole.all, schema: "public", prefix: prefix)
        try await connection.execute(script: roles)
        try await connection.execute(script: Self.facts)
        let held = "SELECT entitlement_details::text FROM entitlement_details ORDER BY 1"
        let (schema, rights) = (try await SchemaPicture(connection), try await lines(Self.rights, connection))
        let rows = try await lines(held, connection)
        #expect(rows.count == 333)

        try await connection.execute(script: "SET partitions.count = 5")
        try await connection.execute(script: Self.script())
        let after = try await SchemaPicture(connection)
        #expect(schema.offered.subtracting(after.offered) == [])
        #expect(try await lines(Self.rights, connection) == rights)
        #expect(try await lines(held, connection) == rows)
        let tables = try await lines(Self.partitioned, connection)
        #expect(tables.count == 11)
        for table in ["entitlements", "transactions"] {
            let used = "SELECT count(DISTINCT tableoid)::text FROM \(table)"
            #expect(try await lines(used, connection) == ["5"])
        }
        let holds = "SELECT has_entitlement('user-7', 'pro')::text"
        #expect(try await lines(holds, connection) == ["true"])

        // Runs it again, after some operators' changes.
        try await connection.execute(script: Self.script())
        #expect(try await lines(Self.partitioned, connection) == tables)
        let known = try PostgresServer.migrations.migrations()
        let next = Migration(
            version: known.count + 1, name: "next",
            script: "ALTER TABLE transactions ADD COLUMN note text; CREATE INDEX ON owners (rule)")
        let report = try await Migrator(known + [next]).run(on: connection)
        #expect(report.applied == [next])
        try await connection.execute(script: roles)
        #expect(try await lines(Self.rights, connection) == rights)
        await connection.close()
    }

    @Test func `each declared statement fits the partitioned schema`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let client = PostgresClient(options, connectionsMax: 1)
        try await client.withConnection { try await $0.execute(script: Self.script()) }
        try await StatementTests.checkAll(client)
        await client.close()
    }

    @Test func `a table that has more than a copy keeps is refused, and left whole`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(script: "CREATE PUBLICATION feed FOR TABLE ledger")
        let error = await #expect(throws: PostgresError.self) { try await connection.execute(script: Self.script()) }
        #expect(error?.description.contains("ledger has what a copy would lose") == true)
        // libpq runs a script as one transaction by default.
        #expect(try await lines(Self.partitioned, connection) == [])
        await connection.close()
    }
}
