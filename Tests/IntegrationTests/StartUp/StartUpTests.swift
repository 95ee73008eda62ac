import Foundation
import JSON
import Records
import Simulation
import Operations
import Testing
import TestSupport
import Topology

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10))) struct StartUpTests {
        private static func traffic() throws -> DemoTraffic {
            try DemoTraffic(seed: 19, bodyCount: DemoTraffic.bodyCountMin)
        }

        private static let fault = "dependency unavailable, retrying"
        private static let missing = "topic missing or not authorized, waiting for it"
        private static let faultIsOver = "dependency available again"

        @Test(arguments: OwnBroker.kinds)
        func `a broker and a database that do not exist yet are waited for, and reported once`(kind: KafkaCluster.Kind)
            async throws
        {
            try await OwnBroker.lend(kind) { broker in
                try await PrivatePostgres.lend { server in try await Self.wait(for: broker, server, kind) }
            }
        }

        private static func wait(for broker: OwnBroker, _ server: PrivatePostgres, _ kind: KafkaCluster.Kind)
            async throws
        {
            var setup = PipelineSetup(kind)
            setup.ownCluster = broker.cluster
            setup.ownServer = server
            try await RunningPipeline.run(setup, traffic()) { pipeline in
                try await pipeline.publish(pipeline.traffic.items)
                try await server.stop(.fast)
                try await broker.stop(.orderly)
                let workers = try pipeline.startAll()
                for worker in workers.values { try await Self.waitForAttempts(worker) }
                try await server.start()
                for worker in workers.values where worker.stage != .verify {
                    await eventually("\(worker.name) finds the database") {
                        worker.log.steps(of: Self.faultIsOver) == ["probe"]
                    }
                }
                for worker in workers.values {
                    await eventually("\(worker.name) misses the broker") {
                        worker.log.steps(of: Self.fault).last == "connection"
                    }
                }
                try await broker.startAgain()
                try await pipeline.waitUntilReady()
                try await pipeline.expectNothingLost(try await pipeline.settle())
                for worker in workers.values {
                    let steps = worker.stage == .verify ? [] : ["probe"]
                    #expect(worker.log.steps(of: Self.fault) == steps + ["connection"])
                    #expect(worker.log.steps(of: Self.faultIsOver) == steps + ["connection"])
                }
            }
        }

        /// Waits until a worker has tried several times, alive and not ready.
        private static func waitForAttempts(_ worker: WorkerCopy) async throws {
            let step = worker.stage == .verify ? "connection" : "probe"
            await eventually("\(worker.name) tries again and again") {
                worker.sum("infrastructure_faults_total", "step=\"\(step)\"") >= 3
            }
            #expect(worker.isUnready, "\(worker.name)")
            #expect(worker.get("/livez")?.isOK == true, "\(worker.name)")
            #expect(worker.process.isRunning, "\(worker.name)")
        }

        @Test(.needsRealKafka) func `topics that do not exist yet are waited for, and each is named once`() async throws
        {
            var setup = PipelineSetup(.real)
            setup.makesTopics = false
            try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                let workers = try pipeline.startAll()
                for worker in workers.values {
                    let topic = pipeline.layout.prefix + worker.stage.inputTopic
                    await eventually("\(worker.name) names \(topic)") {
                        worker.log.topics(of: Self.missing).contains(topic)
                    }
                    #expect(worker.isUnready, "\(worker.name)")
                }
                try await pipeline.makeTopics()
                try await pipeline.publish(pipeline.traffic.items)
                try await pipeline.expectNothingLost(try await pipeline.settle())
                try await pipeline.waitUntilReady()
                for worker in workers.values {
                    let topics = worker.log.topics(of: Self.missing)
                    #expect(topics.count == Set(topics).count, "\(worker.name): \(topics)")
                }
            }
        }
    }
}

extension WorkerLog {
    fileprivate func steps(of message: String) -> [String] { events(message).compactMap { $0["step"]?.string } }

    fileprivate func topics(of message: String) -> [String] { events(message).compactMap { $0["kafka.topic"]?.string } }
}
