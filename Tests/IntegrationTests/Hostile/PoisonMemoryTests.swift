import Foundation
import Kafka
import Operations
import Records
import TestSupport
import Testing
import Simulation
import Topology
import Worker

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10)))
    struct PoisonMemoryTests {
        private static let poisonBytes = 10 << 20
        /// Less than one of them.
        private static let growthMax = Double(8 << 20)

        /// The mock keeps less of a partition than one such body.
        @Test(.needsRealKafka)
        func `bodies of 10 MB do not raise a worker's memory for good`() async throws {
            var setup = PipelineSetup(.real)
            setup.recordBytesMax = [Topic.raw: 12 << 20]
            let traffic = try DemoTraffic(seed: 23, bodyCount: 400)
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let verify = try pipeline.start(.verify)
                try pipeline.start(.dedupe)
                try pipeline.start(.link)
                try pipeline.start(.entitle)
                try await pipeline.publish(upTo: 0.8)
                try await pipeline.settle()
                let before = try #require(verify.metric("resident_memory_bytes"))
                let topic = pipeline.layout.prefix + Topic.raw
                for _ in 0..<6 {
                    let noise = HostileRecord.noise(Self.poisonBytes)
                    try await pipeline.publish([ProducerRecord(topic: topic, value: noise)])
                }
                try await pipeline.publish(upTo: 1)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                let after = try #require(verify.metric("resident_memory_bytes"))
                #expect(
                    after <= before + Self.growthMax,
                    "from \(before / 1_048_576) to \(after / 1_048_576) MiB"
                )
            }
        }
    }
}
