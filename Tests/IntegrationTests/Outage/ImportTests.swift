import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// Customers who move in from another system.
    @Suite(.needsBuiltWorkers, .timeLimit(.minutes(45))) struct ImportTests {
        /// Number of customers; `IMPORT_CUSTOMERS=10000` takes half an hour, by Apple's limits.
        private static let count = ProcessInfo.processInfo.environment["IMPORT_CUSTOMERS"].flatMap(Int.init) ?? 300
        private static func isKnown(_ number: Int) -> Bool { !number.isMultiple(of: 10) }

        /// The purchases of the customers that Apple knows, each with one.
        private static func purchases(_ traffic: DemoTraffic) throws -> [[UInt8]] {
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            return try (1...count).filter(isKnown).map { number in
                var fields = TransactionFields()
                fields.transactionID = id(number)
                fields.originalTransactionID = id(number)
                fields.purchaseDate = now - 86_400_000
                fields.originalPurchaseDate = fields.purchaseDate
                fields.signedDate = now - 86_400_000 + Int64(number)
                fields.expiresDate = now + 30 * 86_400_000
                fields.environment = "Production"
                return try traffic.authority.sign(fields.json)
            }
        }

        private static func id(_ number: Int) -> String { "\(2_000_000_000_000_000 + number)" }

        private static func table(_ kind: String, _ heading: String) -> String {
            let lines = (1...count).map { "\(kind)\(id($0)),user-\($0)\n" }
            return heading + lines.joined() + lines.prefix(count / 10).joined()
        }

        @Test func `imported customers have the rows of those who came the usual way, after kills too`() async throws {
            let traffic = try DemoTraffic(seed: 31, bodyCount: 200)
            let purchases = try Self.purchases(traffic)
            var usual: RowPicture?
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                let links = "\(pipeline.folder)/links.csv"
                try Self.table("original_transaction_id,", "kind,key,user\n").write(
                    toFile: links, atomically: true, encoding: .utf8)
                #expect(await pipeline.operate("link", "add", "--from", links, "--by=a", "--reason=b").code == 0)
                try await pipeline.publish(
                    purchases.map { ProducerRecord(topic: pipeline.layout.prefix + Topic.raw, value: $0) })
                try await pipeline.settle()
                usual = try await pipeline.withDatabase { try await RowPicture($0) }
            }
            let wanted = try #require(usual)
            #expect(wanted.count("transactions") == purchases.count && wanted.count("entitlements") == purchases.count)
            let world = AppleWorld(authority: traffic.authority)
            for purchase in purchases { world.add(purchase) }
            let apple = try SimulatedApple(world, apps: [.pro])
            defer { apple.stop() }
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                let environment = apple.environment.merging(["RECOVERY_RATE_SHARE": "100"]) { $1 }
                var worker = try pipeline.start(.recovery, environment: environment)
                try await eventually { try await Self.value("count(*) FROM recovery_windows", pipeline) > 0 }
                try await Self.publishKilled(purchases.prefix(9), pipeline)
                try await Self.importKilled(pipeline)
                for share in [3, 2] {
                    try await eventually(within: .seconds(120 + Self.count / 10)) {
                        let left = "count(*) FROM recovery_requests WHERE finished_at IS NULL"
                        return try await Self.value(left, pipeline) < Int64(2 * Self.count * share / 4)
                    }
                    try await pipeline.kill(worker)
                    worker = try pipeline.start(.recovery, environment: environment)
                }
                let (whole, missing) = (purchases.count, Self.count - purchases.count)
                // Numbers of four digits have a comma.
                func status() async -> String {
                    await pipeline.operate("import", "--status").output.replacing(",", with: "")
                }
                var report = await status()
                _ = await becomesTrue(within: .seconds(240 + Self.count / 10), every: .milliseconds(500)) {
                    report = await status()
                    return report.contains("\(whole) whole 0 waiting")
                }
                #expect(
                    report.contains("\(Self.count) customers: \(whole) whole 0 waiting \(missing) missing"), "\(report)"
                )
                try await pipeline.settle()
                let rows = try await pipeline.withDatabase { try await RowPicture($0) }
                let differences = rows.differences(from: wanted)
                #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
                try await pipeline.stop(worker)
            }
        }

        /// Kills the command after its bodies are published and before it asks Apple, and runs it again.
        private static func publishKilled(_ purchases: ArraySlice<[UInt8]>, _ pipeline: RunningPipeline) async throws {
            let lines = purchases.enumerated().map { "user-\($0 + 1),\(String(decoding: $1, as: UTF8.self))\n" }
            try ("user,jws\n" + lines.joined()).write(
                toFile: "\(pipeline.folder)/bodies.csv", atomically: true, encoding: .utf8)
            let command = "pipeline import bodies.csv --by=a --reason=b"
            let environment = [
                "DATABASE_URL": pipeline.database.connectionString,
                "KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": pipeline.layout.prefix,
            ]
            let folder = URL(filePath: pipeline.folder)
            try await pipeline.withDatabase { connection in
                _ = try await connection.query("BEGIN")
                _ = try await connection.query("LOCK TABLE recovery_requests IN SHARE MODE")
                _ = try CommandPage.run("timeout --signal=KILL 5 \(command)", environment, in: folder)
                // The server would still perform the statement that waits for the lock.
                _ = try await connection.query(
                    """
                    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'pipeline'
                        AND wait_event_type = 'Lock'
                    """)
                _ = try await connection.query("ROLLBACK")
            }
            try await eventually { try await value("count(*) FROM transactions", pipeline) == Int64(purchases.count) }
            #expect(try await value("count(*) FROM recovery_requests WHERE imported_at IS NOT NULL", pipeline) == 0)
            let again = try CommandPage.run(command, environment, in: folder)
            let count = purchases.count
            #expect(again.contains("0 links written, \(count) customers to ask Apple about, \(count) bodies published"))
        }

        /// Kills the command at several moments, and then lets it go on to its end.
        private static func importKilled(_ pipeline: RunningPipeline) async throws {
            let file = "\(pipeline.folder)/customers.csv"
            try table("", "original_transaction_id,user\n").write(toFile: file, atomically: true, encoding: .utf8)
            let command = "pipeline import \(file) --by=a --reason=b"
            let environment = ["DATABASE_URL": pipeline.database.connectionString]
            let folder = URL(filePath: pipeline.folder)
            for seconds in ["0.02", "0.04", "0.06", "0.08", "0.1", "0.15"] {
                _ = try CommandPage.run("timeout --signal=KILL \(seconds) \(command)", environment, in: folder)
            }
            _ = try CommandPage.run(command, environment, in: folder)
            #expect(
                try await value("count(*) FROM recovery_requests WHERE imported_at IS NOT NULL", pipeline)
                    == Int64(2 * count))
            let again = try CommandPage.run(command, environment, in: folder)
            #expect(again.contains("lines read, 0 links written, "), "\(again)")
        }

        private static func value(_ sql: String, _ pipeline: RunningPipeline) async throws -> Int64 {
            try await pipeline.withDatabase { try await $0.query("SELECT \(sql)")[0].int8(0) }
        }
    }
}
