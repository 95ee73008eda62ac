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

/// Purchases that change for a long time: tables and indexes reach a size, and stay there.
///
/// Run by deploy/growth.sh, which sets the minutes.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["GROWTH_MINUTES"] != nil, "run by deploy/growth.sh"))
struct GrowthTests {
    private static let purchases = 4_000
    private static let batch = 400
    /// A round begins this long after the former one, if that is done: the same load in every
    /// minute, so that autovacuum's findings do not follow other work of the machine.
    private static let roundPeriod = Duration.seconds(9)
    private static let roundsPerArchive: Int64 = 4

    /// Megabytes of each table with its indexes and TOAST.
    private static func sizes(_ connection: PostgresConnection) async throws -> [String: Double] {
        try await connection.query(
            """
            SELECT relname::text, pg_total_relation_size(oid) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
            """
        ).reduce(into: [:]) { $0[$1.text(0)] = Double($1.int8(1)) / 1_000_000 }
    }

    /// Writes all purchases again, refunded in every other round.
    private static func change(_ round: Int64, _ worker: EntitleWorker) async throws {
        for first in stride(from: 0, to: purchases, by: batch) {
            let observations = try (first..<first + batch).map { index in
                // Each round is a new content of the same transaction.
                try Signed.transaction(
                    String(index), signed: round, revoked: round.isMultiple(of: 2) ? 100 + round : nil)
            }
            _ = try await worker.process(observations)
            let notifications = try (first..<first + batch).map { index in
                try Signed.renewal(String(index), signed: round, graceExpires: nil, renewed: round)
            }
            _ = try await worker.process(notifications)
        }
        // As the feed does after an acknowledgement.
        _ = try await worker.client.query("DELETE FROM unpublished_changes")
    }

    @Test func `tables and indexes reach a plateau under steady change`() async throws {
        let text = ProcessInfo.processInfo.environment["GROWTH_MINUTES"] ?? ""
        let minutes = try #require(Int(text))
        var configuration = PrivatePostgres.Configuration()
        // Purchases change more often here in an hour than in production in a month.
        configuration.settings = ["autovacuum_naptime": "10s"]
        try await PrivatePostgres.lend(configuration) { server in
            try await Self.load(server, for: .seconds(minutes * 60))
        }
    }

    private static func load(_ server: PrivatePostgres, for duration: Duration) async throws {
        let options = server.options("growth")
        let folder = FileManager.default.temporaryDirectory.appending(path: "growth-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await PostgresConnection.lend(options) { connection in
            _ = try await Migrator(PostgresServer.migrations.migrations()).run(on: connection)
            let worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 4))
            for index in 0..<purchases {
                let owner = Ownership(userID: "user-\(index)", rule: .accountToken)
                try await worker.own([Signed.key(String(index)): owner])
            }
            let samples = try await samples(
                for: duration, worker, connection, archive: { try archive(folder.path, options.connectionString) })
            try judge(samples)
        }
    }

    /// The sizes of each table after each archive, always at the same moment of a cycle.
    private static func samples(
        for duration: Duration, _ worker: EntitleWorker, _ connection: PostgresConnection, archive: () throws -> Void
    ) async throws -> [[String: Double]] {
        let start = ContinuousClock.now
        var samples: [[String: Double]] = []
        var round: Int64 = 0
        var lateRounds = 0
        while ContinuousClock.now - start < duration {
            let next = ContinuousClock.now + roundPeriod
            round += 1
            try await change(round, worker)
            if round.isMultiple(of: roundsPerArchive) {
                try archive()
                samples.append(try await sizes(connection))
                if samples.count % 5 == 0 { report(ContinuousClock.now - start, round, samples[samples.count - 1]) }
            }
            if ContinuousClock.now > next { lateRounds += 1 }
            try await ContinuousClock().sleep(until: next)
        }
        // With less load autovacuum has less to do.
        print("growth \(round) rounds, \(lateRounds) of them longer than \(roundPeriod)")
        return samples
    }

    private static func judge(_ samples: [[String: Double]]) throws {
        let tables = Set(samples.flatMap(\.keys)).sorted()
        for table in tables {
            let sizes = samples.map { $0[table] ?? 0 }
            let medians = try #require(
                GrowthJudge.medians(sizes), "\(samples.count) samples are too few to judge: let it run for longer")
            let judge = GrowthJudge.of(table)
            let text = "\(table): \(megabytes(medians.middle)), then \(megabytes(medians.last)) MB"
            print("growth", text, "of at most", megabytes(judge.sizeMax(medians)))
            #expect(judge.isAtRest(medians), "\(text)")
        }
    }

    private static func megabytes(_ size: Double) -> String { String(format: "%.2f", size) }

    /// Archives all superseded rows, independent of their age.
    private static func archive(_ folder: String, _ url: String) throws {
        let run = try HistoryRig.archive(
            url, to: folder, ["older_than": "0 days", "older_than_min": "0 days", "rows": "1000000"])
        #expect(run.isSuccess, "\(run.text)")
    }

    private static func report(_ elapsed: Duration, _ round: Int64, _ sizes: [String: Double]) {
        let tables = sizes.filter { $0.value > 0.5 }.sorted { $0.key < $1.key }
        let text = tables.map { "\($0.key) \(megabytes($0.value))" }.joined(separator: ", ")
        print("growth \(Int(elapsed / .seconds(1))) s, round \(round), MB: \(text)")
    }
}
