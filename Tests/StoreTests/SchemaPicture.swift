import Postgres
import Store

/// The parts of a schema that a program relies on, a line for each, to compare two versions.
struct SchemaPicture {
    /// Tables, columns with their types, functions with their results, triggers, unique keys.
    let offered: Set<String>
    /// Columns that an INSERT has to name, and rules that it has to keep.
    let demanded: Set<String>
    private let tables: Set<String>

    init(_ connection: PostgresConnection) async throws {
        func lines(_ sql: String) async throws -> Set<String> {
            Set(try await connection.query(sql).map { $0.text(0) })
        }
        tables = try await lines(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'm', 'p')
            """)
        offered = tables.union(try await lines(Self.offer))
        demanded = try await lines(Self.demand)
    }

    private static let offer = """
        SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p')
            AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT proname || '(' || pg_get_function_identity_arguments(oid) || ') '
            || pg_get_function_result(oid)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
        UNION ALL
        SELECT c.relname || ' trigger ' || t.tgname
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
        UNION ALL
        SELECT c.relname || ' unique ' || (
            SELECT string_agg(a.attname, ',' ORDER BY a.attname) FROM pg_attribute AS a
            WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[]))
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
        WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND i.indkey[0] <> 0
        """

    private static let demand = """
        SELECT c.relname || '.' || a.attname || ' must be named'
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
        UNION ALL
        SELECT c.relname || '.' || k.conname || ' ' || pg_get_constraintdef(k.oid)
        FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
        WHERE c.relnamespace = 'public'::regnamespace AND k.contype IN ('c', 'f', 'x')
        UNION ALL
        SELECT c.relname || '.' || x.relname || ' ' || pg_get_indexdef(i.indexrelid)
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
        JOIN pg_class AS x ON x.oid = i.indexrelid
        WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique
        """

    /// The parts that a program written for this schema would miss in a later one, or be refused
    /// by.
    func breaks(in later: SchemaPicture, _ migration: Migration) -> [String] {
        let given = migration.contracts
        func isKept(_ line: String) -> Bool { !given.contains { line == $0 || line.hasPrefix($0 + " ") } }
        let missing = offered.subtracting(later.offered).filter(isKept)
        // A new table may have any requirements.
        let new = later.demanded.subtracting(demanded).filter {
            tables.contains(String($0.prefix { $0 != "." })) && isKept($0)
        }
        return missing.map { "missing: \($0)" }.sorted() + new.map { "new rule: \($0)" }.sorted()
    }
}

extension Migration {
    /// The names that it removes on purpose, because the previous version no longer uses them:
    /// those after `-- Contracts:` at the beginning of a line.
    fileprivate var contracts: [String] {
        script.split(separator: "\n").filter { $0.hasPrefix("-- Contracts: ") }.flatMap { line in
            line.dropFirst("-- Contracts: ".count).split(separator: ", ").map { String($0) }
        }
    }
}
