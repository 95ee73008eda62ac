import AppStore
import Foundation
import Kafka
import Records
import Simulation
import OpenSSL
import Operations
import Postgres
import Testing
import TestSupport
import Worker

extension PipelineTests {
    /// Receipts that earlier versions refused, replayed by the auditors' and the operators' real
    /// tools.
    @Suite(.timeLimit(.minutes(10))) struct ReplayedReceiptTests {
        @Test(.needsBuiltWorkers) func `a formerly unsupported receipt entitles once its original is published again`()
            async throws
        {
            let traffic = try DemoTraffic(seed: 31, bodyCount: 200)
            let receipts = traffic.items.filter { $0.kind == .receipt }
            let values = Set(receipts.map(\.value))
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(traffic.items.filter { !values.contains($0.value) })
                try await pipeline.settle()
                #expect(try await Self.held(pipeline).isEmpty)
                let letters = receipts.enumerated().map { Self.letter($1, $0, pipeline) }
                try await pipeline.publish(letters)
                for letter in letters { try await Self.replay(letter, pipeline) }
                let expected = traffic.users.filter { $0.userID.hasPrefix("veteran-") }.flatMap { user in
                    user.entitlements.map { "\(user.userID) \($0)" }
                }
                #expect(expected.count >= 2)
                try await eventually { try await Self.held(pipeline) == expected.sorted() }
            }
        }

        /// The letter of a version that verified no receipt.
        private static func letter(_ item: DemoItem, _ index: Int, _ pipeline: RunningPipeline) -> ProducerRecord {
            let writer = DeadLetterWriter(
                DeadLetterContext(
                    cluster: "cluster-1", topic: pipeline.layout.prefix + Topic.deadLetter, stage: "verify",
                    readsObservations: false, worker: "verify-1", verifierVersion: "0.9.0",
                    configuration: SHA256.digest([UInt8]())))
            let original = ConsumerRecord(
                topicPartition: TopicPartition(topic: pipeline.layout.prefix + Topic.raw, partition: 0),
                offset: 1_000_000 + Int64(index), key: item.key, value: item.value, headers: [])
            let facts = Refusal(reason: .receiptUnsupported, detail: "receipts are not verified by this version")
            return writer.letter(for: original, facts, value: .original, after: nil).record
        }

        /// The command of an auditor.
        private static func replay(_ letter: ProducerRecord, _ pipeline: RunningPipeline) async throws {
            let id = String(decoding: letter.headers.first { $0.name == "dlq.id" }?.value ?? [], as: UTF8.self)
            let script =
                #"dead-letter show "$0" --original --as vera --why again > body && pipeline publish --whole body"#
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let shell = try ChildProcess(
                executable: "/bin/sh", arguments: ["-ec", "cd '\(pipeline.folder)'; \(script)", id],
                environment: [
                    "PATH": "\(BuiltWorkers.folder):\(path)", "KAFKA_BOOTSTRAP": pipeline.cluster.bootstrapServers,
                    "KAFKA_TOPIC_PREFIX": pipeline.layout.prefix, "SWIFT_BACKTRACE": "enable=no",
                ], standardError: .file(path: "\(pipeline.folder)/replay.err"))
            let end = try await shell.waitForEnd(deadline: .hopeless)
            let words = try? String(contentsOfFile: "\(pipeline.folder)/replay.err", encoding: .utf8)
            #expect(end == .exited(code: 0), "\(words ?? "")")
        }

        /// The entitlements of users that only receipts name.
        private static func held(_ pipeline: RunningPipeline) async throws -> [String] {
            try await pipeline.withDatabase { connection in
                try await connection.query(
                    """
                    SELECT user_id || ' ' || entitlement_key FROM active_entitlements
                    WHERE user_id LIKE 'veteran-%' ORDER BY 1
                    """
                ).map { $0.text(0) }
            }
        }
    }
}
