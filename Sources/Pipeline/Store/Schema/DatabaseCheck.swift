package import Postgres
package import Settings

/// The database checks of `--check --connect`.
package enum DatabaseCheck {
    private static let deadline = Duration.seconds(10)

    /// Checks the connection, the schema's version and the rights of the connecting role.
    ///
    /// - Parameters:
    ///   - options: the options of the program's connection; its deadlines are shortened.
    ///   - role: the role whose rights the program needs.
    package static func findings(_ options: PostgresOptions, role: DatabaseRole) async -> [ConnectionFinding] {
        var options = options
        options.connectDeadline = min(options.connectDeadline, deadline)
        options.statementDeadline = min(options.statementDeadline, deadline)
        let client = PostgresClient(options, connectionsMax: 1)
        let findings = await findings(client, role)
        await client.close()
        return findings
    }

    private static func findings(_ client: PostgresClient, _ role: DatabaseRole) async -> [ConnectionFinding] {
        let rights = "the program takes the rights of the role \(role.name): see 'pipeline grants'"
        let version: Int64
        do { version = try await SchemaVersion.current(client) } catch let error as PostgresError
            where error.sqlState == .insufficientPrivilege
        {
            let error = CommandError(describing: error, rights: rights)
            return [.fine("database", "answers"), ConnectionFinding("rights", .failure(error))]
        } catch {
            let error = CommandError(describing: error)
            let advice = "\(error); see database.url (DATABASE_URL)"
            return [.wrong("database", exitCode: error.exitCode, advice)]
        }
        let answer = ConnectionFinding.fine("database", "answers")
        guard version >= SchemaVersion.required else {
            let text = "version \(version), expected \(SchemaVersion.required) or later: run 'pipeline migrate'"
            return [answer, .wrong("schema", exitCode: ExitCode.configuration, text)]
        }
        do {
            let lacking = try await lackedRights(client, role)
            let schema = ConnectionFinding.fine("schema", "version \(version)")
            guard !lacking.isEmpty else { return [answer, schema, .fine("rights", "those of the role \(role.name)")] }
            return [answer, schema]
                + lacking.map { .wrong("rights", exitCode: ExitCode.configuration, "\($0); \(rights)") }
        } catch { return [answer, ConnectionFinding("rights", .failure(CommandError(describing: error)))] }
    }

    /// Returns texts such as `no INSERT, UPDATE on owners`, one for each table or function.
    private static func lackedRights(_ client: PostgresClient, _ role: DatabaseRole) async throws -> [String] {
        let tables = role.tables.flatMap { rights in
            let privileges = rights.privileges.split(separator: ",").map { $0.drop { $0 == " " } }
            return rights.tables.flatMap { table in privileges.map { "('\(table)', '', '\($0)')" } }
        }
        let columns = role.columns.flatMap { rights in
            rights.columns.map { "('\(rights.table)', '\($0)', '\(rights.privilege)')" }
        }
        let functions = role.functions.map { "('\($0)', '', 'EXECUTE')" }
        // A table or function is also missing if the role may not use its schema.
        let rows = try await client.query(
            """
            SELECT t, string_agg(DISTINCT p, ', ' ORDER BY p)
            FROM (VALUES \(Set(tables + columns + functions).sorted().joined(separator: ", ")))
                AS wanted (t, c, p)
            WHERE NOT coalesce(
                CASE WHEN p = 'EXECUTE' THEN has_function_privilege(to_regproc(t)::oid, p)
                WHEN c = '' THEN has_table_privilege(to_regclass(t), p)
                ELSE has_column_privilege(to_regclass(t), c, p) END, false)
            GROUP BY t ORDER BY t
            """)
        return rows.map { "no \($0.text(1)) on \($0.text(0))" }
    }
}
