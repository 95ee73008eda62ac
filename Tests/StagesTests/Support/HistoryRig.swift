import Foundation
import Operations
import Postgres
import TestSupport
import Testing

/// A migrated database with an entitle stage, and a folder for archived history.
final class HistoryRig: Sendable {
    let worker: EntitleWorker
    let url: String
    let folder: String

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 8))
        url = options.connectionString
        folder = FileManager.default.temporaryDirectory.appending(path: "history-\(UUID().uuidString)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func run(_ arguments: String...) async -> (code: Int32, output: String, notes: String) {
        await PipelineTool.run(arguments, on: url)
    }

    /// Runs `deploy/postgres/archive.sql` with psql.
    static func archive(_ url: String, to folder: String, _ variables: [String: String] = [:]) throws -> ProgramRun {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let given = ["ON_ERROR_STOP": "1", "older_than": "400 days", "folder": folder].merging(variables) { $1 }
        let script = ReferenceScript.root.appending(path: "deploy/postgres/archive.sql").path
        return try ProgramRun(
            "/usr/bin/psql",
            ["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]
                + given.flatMap { ["--set", "\($0.key)=\($0.value)"] } + ["--file", script, url], takesErrors: true)
    }

    func psql(_ variables: [String: String] = [:]) throws -> ProgramRun { try Self.archive(url, to: folder, variables) }

    /// The number of archived rows by table.
    func archive() throws -> [String: Int64] {
        let end = try psql()
        #expect(end.isSuccess, "\(end.text)")
        let rows = end.text.split(separator: "\n").map { $0.split(separator: "|") }
        return Dictionary(
            uniqueKeysWithValues: rows.filter { $0.count == 2 }.map { (String($0[0]), Int64($0[1]) ?? -1) })
    }

    var files: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return (names ?? []).sorted().map { "\(folder)/\($0)" }
    }

    /// Moves the dates of the whole history back.
    func age(days: Int) async throws {
        for (table, column) in [
            ("revisions", "recorded_at"), ("notifications", "recorded_at"), ("changes", "changed_at"),
        ] { _ = try await worker.client.query("UPDATE \(table) SET \(column) = \(column) - interval '\(days) days'") }
    }

    /// Every row of the history, in an order of its own.
    func history() async throws -> [String] {
        try await worker.client.query(
            """
            SELECT line::text FROM (
                SELECT row_to_json(r)::text || payload::text FROM revisions AS r
                UNION ALL SELECT row_to_json(c)::text FROM changes AS c
                UNION ALL SELECT row_to_json(n)::text FROM notifications AS n
            ) AS lines (line) ORDER BY 1
            """
        ).map { $0.text(0) }
    }

    func text(_ sql: String) async throws -> String? { try await worker.client.query(sql)[0].optionalText(0) }
}
