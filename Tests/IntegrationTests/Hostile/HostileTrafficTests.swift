import AppStore
import Foundation
import Kafka
import Records
import Simulation
import OpenSSL
import Operations
import Testing
import TestSupport
import Worker

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10))) struct HostileTrafficTests {
        private static func traffic() throws -> DemoTraffic {
            try DemoTraffic(seed: 17, bodyCount: DemoTraffic.bodyCountMin)
        }

        @Test(arguments: KafkaCluster.Kind.available)
        func `a record that is made to hurt costs a dead letter and nothing beside it`(kind: KafkaCluster.Kind)
            async throws
        {
            var setup = PipelineSetup(kind)
            setup.recordBytesMax = [Topic.raw: 12 << 20]
            let traffic = try Self.traffic()
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let hostile = try HostileRecord.all(
                    traffic.authority,
                    // The mock keeps less than 5 MB of a partition.
                    bytesMax: kind == .mock ? 2 << 20 : 10 << 20)
                let workers = try pipeline.startAll()
                try await Self.publish(hostile, among: traffic.items, pipeline)
                let reconciliation = try await pipeline.settle()
                for worker in workers.values { #expect(worker.process.isRunning, "\(worker.name)") }
                try await pipeline.expectNothingLost(reconciliation)
                try await Self.expectReasons(hostile, pipeline)
            }
        }

        /// Publishes the hostile records evenly among the good ones.
        private static func publish(_ hostile: [HostileRecord], among items: [DemoItem], _ pipeline: RunningPipeline)
            async throws
        {
            let topic = pipeline.layout.prefix + Topic.raw
            let share = items.count / hostile.count
            for (index, record) in hostile.enumerated() {
                try await pipeline.publish(items[(index * share)..<((index + 1) * share)])
                let partition = Int32(index) % pipeline.layout.partitions
                try await pipeline.publish([record.record(topic: topic, partition: partition)])
            }
            try await pipeline.publish(items[(hostile.count * share)...])
        }

        /// The reasons in our own table, not those of the verifier here.
        private static func expectReasons(_ hostile: [HostileRecord], _ pipeline: RunningPipeline) async throws {
            let letters = try await pipeline.deadLetters().letters
            let bySource = Dictionary(grouping: letters, by: \.sourceSHA256)
            for record in hostile {
                let found = bySource[SHA256.digest(record.value ?? []).hex] ?? []
                guard let reason = record.reason else {
                    #expect(found.isEmpty, "\(record.name)")
                    continue
                }
                #expect(!found.isEmpty, "\(record.name)")
                #expect(found.allSatisfy { $0.reason == reason.rawValue }, "\(record.name)")
                let isWhole = record.value.map { $0.count < 3 << 20 } ?? true
                #expect(found.allSatisfy { $0.value == (isWhole ? .original : .omitted) }, "\(record.name)")
            }
        }

        @Test(.needsRealKafka) func `a record too large for the dead-letter topic is a dead letter without its value`()
            async throws
        {
            var setup = PipelineSetup(.real)
            setup.recordBytesMax = [Topic.deadLetter: 600_000]
            setup.deadLetterValueBytesMax = 590_000
            let traffic = try Self.traffic()
            try await RunningPipeline.run(setup, traffic) { pipeline in
                try pipeline.startAll()
                let topic = pipeline.layout.prefix + Topic.raw
                for (bytes, share) in [(800_000, 0.3), (300_000, 0.6), (1_000_000, 1)] {
                    let noise = HostileRecord.noise(bytes)
                    try await pipeline.publish([ProducerRecord(topic: topic, value: noise)])
                    try await pipeline.publish(upTo: share)
                }
                try await pipeline.expectNothingLost(try await pipeline.settle())
                let letters = try await pipeline.deadLetters().letters
                #expect(letters.filter { $0.value == .omitted }.count == 2)
            }
        }
    }
}
