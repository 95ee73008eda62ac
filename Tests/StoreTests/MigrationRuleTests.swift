import Postgres
import TestSupport
import Testing

@testable import Store

/// The rule of schemas/postgres/README.md: the programs of the version before work with the schema
/// as a migration leaves it, so that operators can migrate first and go back.
@Suite struct MigrationRuleTests {
    private let connection: PostgresConnection

    init() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    /// The breaks of each migration from the second on.
    private func breaks(_ migrations: [Migration]) async throws -> [String] {
        var breaks: [String] = []
        var before: SchemaPicture?
        for count in 1...migrations.count {
            _ = try await Migrator(Array(migrations.prefix(count))).run(on: connection)
            let after = try await SchemaPicture(connection)
            let migration = migrations[count - 1]
            breaks += before?.breaks(in: after, migration) ?? []
            before = after
        }
        return breaks
    }

    @Test func `no migration breaks the version before it`() async throws {
        let migrations = try PostgresServer.migrations.migrations()
        #expect(try await breaks(migrations) == [])
    }

    private static let first = """
        CREATE TABLE facts (id text PRIMARY KEY, kind text, amount int4, note text);
        CREATE UNIQUE INDEX ON facts (kind, amount);
        CREATE VIEW kinds AS SELECT kind FROM facts;
        CREATE FUNCTION doubled(amount int4) RETURNS int4 LANGUAGE sql RETURN amount * 2;
        CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER noting AFTER INSERT ON facts FOR EACH ROW EXECUTE FUNCTION noted()
        """

    @Test(arguments: [
        ("DROP TABLE facts CASCADE", "missing: facts"), ("DROP VIEW kinds", "missing: kinds"),
        ("ALTER TABLE facts RENAME TO things", "missing: facts"),
        ("ALTER TABLE facts DROP COLUMN note", "missing: facts.note text"),
        ("ALTER TABLE facts RENAME note TO remark", "missing: facts.note text"),
        ("ALTER TABLE facts ALTER amount TYPE int8", "missing: facts.amount integer"),
        ("ALTER TABLE facts ALTER note SET NOT NULL", "new rule: facts.note must be named"),
        ("ALTER TABLE facts ADD since timestamptz NOT NULL", "new rule: facts.since must be named"),
        ("ALTER TABLE facts ADD CONSTRAINT small CHECK (amount < 9)", "new rule: facts.small CHECK ((amount < 9))"),
        ("CREATE UNIQUE INDEX ON facts (note)", "new rule: facts.facts_note_idx"),
        ("DROP INDEX facts_kind_amount_idx", "missing: facts unique amount,kind"),
        ("DROP TRIGGER noting ON facts", "missing: facts trigger noting"),
        ("DROP FUNCTION doubled", "missing: doubled(amount integer) integer"),
        (
            "DROP FUNCTION doubled; CREATE FUNCTION doubled(amount int8) RETURNS int8 "
                + "LANGUAGE sql RETURN amount * 2", "missing: doubled(amount integer) integer"
        ),
    ]) func `a migration that breaks the version before is found`(script: String, found: String) async throws {
        let breaks = try await breaks([
            Migration(version: 1, name: "first", script: Self.first),
            Migration(version: 2, name: "second", script: script),
        ])
        #expect(breaks.contains { $0.hasPrefix(found) }, "\(breaks)")
    }

    @Test(arguments: [
        "CREATE TABLE more (id text PRIMARY KEY, amount int4 NOT NULL CHECK (amount > 0))",
        "ALTER TABLE facts ADD since timestamptz", "ALTER TABLE facts ADD count int8 NOT NULL DEFAULT 0",
        "CREATE INDEX ON facts (note)",
        "CREATE OR REPLACE FUNCTION doubled(amount int4) RETURNS int4 LANGUAGE sql RETURN amount + amount",
        "CREATE OR REPLACE VIEW kinds AS SELECT kind, amount FROM facts", "ALTER TABLE facts SET (fillfactor = 80)",
        "-- Contracts: facts.note\nALTER TABLE facts DROP COLUMN note",
    ]) func `additions and removals declared as unused pass`(script: String) async throws {
        let breaks = try await breaks([
            Migration(version: 1, name: "first", script: Self.first),
            Migration(version: 2, name: "second", script: script),
        ])
        #expect(breaks == [])
    }
}
