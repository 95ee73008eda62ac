import Foundation
import JSON
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
        folder =
            FileManager.default.temporaryDirectory
            .appending(path: "history-\(UUID().uuidString)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func run(_ arguments: String...) async -> (code: Int32, output: String, notes: String) {
        await PipelineTool.run(arguments, on: url)
    }

    func archive() async throws -> [String: Int64] {
        let end = await run(
            "history",
            "archive",
            "--older-than=400d",
            "--to=\(folder)",
            "--yes",
            "--json"
        )
        #expect(end.code == 0, "\(end.notes)")
        var rows: [String: Int64] = [:]
        let root = try JSONDocument(parsing: Array(end.output.utf8)).root
        for table in try #require(root["tables"]).elements {
            rows[try #require(table["table"]?.string)] = table["rows"]?.int64
        }
        return rows
    }

    var files: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return (names ?? []).sorted().map { "\(folder)/\($0)" }
    }

    func restore() async -> (code: Int32, output: String, notes: String) {
        await PipelineTool.run(["history", "restore"] + files, on: url)
    }

    /// As if everything had happened that long ago.
    func age(days: Int) async throws {
        for (table, column) in [
            ("revisions", "recorded_at"), ("notifications", "recorded_at"),
            ("changes", "changed_at"),
        ] {
            _ = try await worker.client.query(
                "UPDATE \(table) SET \(column) = \(column) - interval '\(days) days'"
            )
        }
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

    func text(_ sql: String) async throws -> String? {
        try await worker.client.query(sql)[0].optionalText(0)
    }
}
