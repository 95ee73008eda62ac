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
    @Suite(.timeLimit(.minutes(10))) struct PoisonMemoryTests {
        private static let poisonBytes = 10 << 20
        /// Less than one of them.
        private static let growthMax = Double(8 << 20)

        /// The batch that killed workers: 350 MB of zeros in 350 kB, small for the broker.
        private static let bombBytes = 350_000_000
        /// A share of the 512 MiB that the deployment kit gives a worker.
        private static let peakMax = 200 << 20

        @Test(.needsRealKafka) func `350 MB in a batch of 350 kB are passed over, and what lies behind it is read`()
            async throws
        {
            var setup = PipelineSetup(.real)
            setup.partitions = 1
            setup.rawCodec = "producer"
            let traffic = try DemoTraffic(seed: 29, bodyCount: 400)
            try await RunningPipeline.run(setup, traffic) { pipeline in
                try await pipeline.publish(upTo: 0.5)
                let properties = pipeline.cluster.client.merging([
                    "compression.type": "gzip", "message.max.bytes": "400000000",
                    "queue.buffering.max.kbytes": "400000",
                ]) { $1 }
                let bomb = ProducerRecord(
                    topic: pipeline.layout.prefix + Topic.raw, value: [UInt8](repeating: 0, count: Self.bombBytes))
                let sent = try await KafkaProducer.with(properties) { await $0.send([bomb]) }
                #expect(sent.isComplete)
                try await pipeline.publish(upTo: 1)
                let verify = try pipeline.start(.verify)
                let total = Int64(pipeline.published.count) + 1
                let isRead = try await becomesTrue(within: .seconds(120), every: .milliseconds(200)) {
                    try await pipeline.reconciliation()[.verify]?.settled == total
                }
                #expect(isRead)
                let account = try #require(try await pipeline.reconciliation()[.verify])
                #expect(account.counts[.skipped] == 1)
                let message = "batches of records decompress to more than the limit, passed over"
                #expect(!verify.log.events(message).isEmpty)
                let peak = try Self.peakMemory(of: verify.process.processID)
                #expect(peak <= Self.peakMax, "\(peak >> 20) MiB")
            }
        }

        /// The most that a process has held at once (proc(5)), in bytes.
        private static func peakMemory(of processID: Int32) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            let kilobytes = line.split(separator: " ").compactMap { Int($0) }.first
            return try #require(kilobytes) << 10
        }

        /// The mock keeps less of a partition than one such body.
        @Test(.needsRealKafka) func `bodies of 10 MB do not raise a worker's memory for good`() async throws {
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
                #expect(after <= before + Self.growthMax, "from \(before / 1_048_576) to \(after / 1_048_576) MiB")
            }
        }
    }
}
