import AppStore
import Entitlements
import Foundation
import Operations
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing

/// Purchases that change for a long time: tables and indexes come to a size, and stay at it.
///
/// Run by deploy/growth.sh, which says for how many minutes.
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["GROWTH_MINUTES"] != nil,
        "run by deploy/growth.sh"
    )
)
struct GrowthTests {
    private static let purchases = 4_000
    private static let batch = 400
    private static let growthMax = 1.2

    /// Megabytes of each table with its indexes and TOAST.
    private static func sizes(_ connection: PostgresConnection) async throws -> [String: Double] {
        try await connection.query(
            """
            SELECT relname::text, pg_total_relation_size(oid) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
                AND pg_total_relation_size(oid) > 500000
            """
        ).reduce(into: [:]) { $0[$1.text(0)] = Double($1.int8(1)) / 1_000_000 }
    }

    /// All purchases once more, refunded in every other round.
    private static func change(_ round: Int64, _ worker: EntitleWorker) async throws {
        for first in stride(from: 0, to: purchases, by: batch) {
            let observations = try (first..<first + batch).map { index in
                // Each round is a new content of the same transaction.
                try Signed.transaction(
                    String(index),
                    signed: round,
                    revoked: round.isMultiple(of: 2) ? 100 + round : nil
                )
            }
            _ = try await worker.process(observations)
            let notifications = try (first..<first + batch).map { index in
                try Signed.renewal(String(index), signed: round, graceExpires: nil, renewed: round)
            }
            _ = try await worker.process(notifications)
        }
        // As the feed does when the broker has acknowledged.
        _ = try await worker.client.query("DELETE FROM unpublished_changes")
    }

    @Test func `tables and indexes reach a plateau under steady change`() async throws {
        let text = ProcessInfo.processInfo.environment["GROWTH_MINUTES"] ?? ""
        let minutes = try #require(Int(text))
        var configuration = PrivatePostgres.Configuration()
        // An hour of autovacuum in ten minutes.
        configuration.settings = ["autovacuum_naptime": "10s"]
        let server = try await PrivatePostgres.start(configuration)
        do {
            try await Self.load(server, for: .seconds(minutes * 60))
            try await server.remove()
        } catch {
            try await server.remove()
            throw error
        }
    }

    private static func load(_ server: PrivatePostgres, for duration: Duration) async throws {
        let options = PostgresOptions(
            connectionString: server.connectionString(),
            applicationName: "growth"
        )
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "growth-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await PostgresConnection.lend(options) { connection in
            _ = try await Migrator(PostgresServer.migrations.migrations()).run(on: connection)
            let worker = try await EntitleWorker(
                on: PostgresClient(options, connectionsMax: 4)
            )
            for index in 0..<purchases {
                let owner = Ownership(userID: "user-\(index)", rule: .accountToken)
                try await worker.own([Signed.key(String(index)): owner])
            }
            let start = ContinuousClock.now
            // The most that each table ever had, in either half.
            var largest: [[String: Double]] = [[:], [:]]
            var round: Int64 = 0
            var reported = Duration.zero
            while ContinuousClock.now - start < duration {
                round += 1
                try await change(round, worker)
                if round.isMultiple(of: 4) {
                    try await archive(folder.path, connection)
                }
                let elapsed = ContinuousClock.now - start
                if elapsed - reported > duration / 20 {
                    reported = elapsed
                    let sizes = try await sizes(connection)
                    report(elapsed, round, sizes)
                    let half = elapsed < duration / 2 ? 0 : 1
                    largest[half].merge(sizes) { max($0, $1) }
                }
            }
            for (table, size) in largest[1] {
                // Smaller ones are not listed.
                let before = largest[0][table] ?? 0.5
                #expect(size <= before * growthMax, "\(table) grew from \(before) to \(size) MB")
            }
        }
    }

    /// All that is superseded, whatever its age.
    private static func archive(_ folder: String, _ connection: PostgresConnection) async throws {
        for table in HistoryArchiving.Table.allCases {
            let archive = try await HistoryArchive(table, olderThan: .zero, on: connection)
            _ = try await archive.run(to: folder) { _ in }
        }
    }

    private static func report(_ elapsed: Duration, _ round: Int64, _ sizes: [String: Double]) {
        let tables = sizes.sorted { $0.key < $1.key }.map { table, size in
            "\(table) \(Int(size.rounded()))"
        }
        let line = tables.joined(separator: ", ")
        print("growth \(Int(elapsed / .seconds(1))) s, round \(round), MB: \(line)")
    }
}
