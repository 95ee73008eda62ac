import Foundation
import Glibc
import Kafka
import Records
import Simulation
import Operations
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// The executable after an operator has mistyped a bundle ID.
    @Suite struct ReloadTests {
        /// The settings file with each bundle ID mistyped.
        private static func mistype(_ path: String) throws -> String {
            let right = try String(contentsOfFile: path, encoding: .utf8)
            let wrong = right.replacing("\"bundle_id\":\"", with: "\"bundle_id\":\"typo.")
            #expect(wrong != right)
            try wrong.write(toFile: path, atomically: true, encoding: .utf8)
            return right
        }

        @Test(arguments: [true, false])
        func `a tripped worker continues with the right settings, after a signal or by itself`(isSignalled: Bool)
            async throws
        {
            var setup = PipelineSetup(.mock)
            setup.environment = ["BREAKER_REFUSED_MAX": "10", "SETTINGS_WATCH_INTERVAL": isSignalled ? "1h" : "200ms"]
            let traffic = try DemoTraffic(seed: 11, bodyCount: 200)
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let path = "\(pipeline.folder)/settings.json"
                let right = try Self.mistype(path)
                let worker = try pipeline.start(.verify)
                try await pipeline.publish(Self.records(traffic, topic: "\(pipeline.layout.prefix)raw"))
                await eventually { worker.log.events(Self.tripped).count == 1 }
                await eventually { worker.isUnready }
                try right.write(toFile: path, atomically: true, encoding: .utf8)
                if isSignalled { worker.process.signal(SIGHUP) }
                await eventually { worker.isReady }
                for stage in [StageDescription.dedupe, .link, .entitle] { try pipeline.start(stage) }
                let settled = try await pipeline.settle()
                #expect(settled.isBalanced)
                #expect(worker.log.events("settings reloaded").count == 1)
                #expect(try await pipeline.records(of: "dead-letter").isEmpty)
                let verified = try await pipeline.records(of: "verified").count
                #expect(verified == Self.count)
            }
        }

        private static let count = 30

        /// Transactions of the first app; none of them shows that the settings are right.
        private static func records(_ traffic: DemoTraffic, topic: String) throws -> [ProducerRecord] {
            try (1...count).map { number in
                var fields = TransactionFields()
                fields.transactionID = "\(number)"
                fields.originalTransactionID = "\(number)"
                fields.bundleID = traffic.apps[0].bundleID
                fields.environment = traffic.apps[0].environment
                return ProducerRecord(topic: topic, value: try traffic.authority.sign(fields.json))
            }
        }

        private static let tripped = "breaker tripped, reading without committing"
    }
}
