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
    @Suite(.needsBuiltWorkers, .timeLimit(.minutes(20))) struct ImportTests {
        private static let count = 300
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
            return heading + lines.joined() + lines.prefix(30).joined()
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
                var worker = try pipeline.start(.recovery, environment: apple.environment)
                try await eventually { try await Self.value("count(*) FROM recovery_windows", pipeline) > 0 }
                try await Self.importKilled(pipeline)
                for share in [3, 2] {
                    try await eventually(within: .seconds(120)) {
                        let left = "count(*) FROM recovery_requests WHERE finished_at IS NULL"
                        return try await Self.value(left, pipeline) < Int64(2 * Self.count * share / 4)
                    }
                    try await pipeline.kill(worker)
                    worker = try pipeline.start(.recovery, environment: apple.environment)
                }
                let (whole, missing) = (purchases.count, Self.count - purchases.count)
                var report = await pipeline.operate("import", "--status")
                _ = await becomesTrue(within: .seconds(240), every: .milliseconds(500)) {
                    report = await pipeline.operate("import", "--status")
                    return report.output.contains("\(whole) whole, 0 waiting")
                }
                #expect(
                    report.output.contains("\(Self.count) customers: \(whole) whole, 0 waiting, \(missing) missing"),
                    "\(report.output)")
                try await pipeline.settle()
                let rows = try await pipeline.withDatabase { try await RowPicture($0) }
                let differences = rows.differences(from: wanted)
                #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
                try await pipeline.stop(worker)
            }
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
            #expect(try await value("count(*) FROM recovery_requests WHERE imported_at IS NOT NULL", pipeline) == 600)
            let again = try CommandPage.run(command, environment, in: folder)
            #expect(again.contains("330 lines read, 0 links written, 0 customers to ask Apple about"), "\(again)")
        }

        private static func value(_ sql: String, _ pipeline: RunningPipeline) async throws -> Int64 {
            try await pipeline.withDatabase { try await $0.query("SELECT \(sql)")[0].int8(0) }
        }
    }
}
