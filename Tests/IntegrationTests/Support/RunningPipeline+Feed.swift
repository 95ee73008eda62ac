import JSON
import Kafka
import Postgres
import Records
import Testing
import TestSupport

extension RunningPipeline {
    /// Expects that a reader of the change feed from its beginning misses no version of any user,
    /// reads them in their order, and ends with the state of the rows.
    ///
    /// Records may come again after a crash, with those behind them in the same order.
    func expectFeedComplete(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await waitUntilPublished()
        var versions: [String: Int64] = [:]
        for record in try await records(of: Topic.changed) {
            let change = try JSONDocument(parsing: record.value ?? []).root
            let user = change["userID"]?.string ?? ""
            let version = change["version"]?.int64 ?? 0
            let known = versions[user] ?? 0
            #expect(version <= known + 1, "\(user) skips a version", sourceLocation: sourceLocation)
            versions[user] = max(known, version)
        }
        var states: [String: Int64] = [:]
        for record in try await records(of: Topic.current) {
            let state = try JSONDocument(parsing: record.value ?? []).root
            states[String(decoding: record.key ?? [], as: UTF8.self)] = state["version"]?.int64
        }
        let stored = try await withDatabase { connection in
            try await connection.query("SELECT user_id, version FROM user_versions").reduce(into: [String: Int64]()) {
                $0[$1.text(0)] = $1.int8(1)
            }
        }
        #expect(versions == stored, sourceLocation: sourceLocation)
        #expect(states == stored, sourceLocation: sourceLocation)
    }
}
