import Foundation
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10))) struct OutageTests {
        private static func traffic() throws -> DemoTraffic { try DemoTraffic(seed: 11, bodyCount: 400) }

        private static let withDatabase: [StageDescription] = [.dedupe, .link, .entitle]

        @Test(arguments: KafkaCluster.Kind.preferred)
        func `while PostgreSQL is away the workers wait, and neither lose nor refuse a record`(kind: KafkaCluster.Kind)
            async throws
        {
            try await PrivatePostgres.lend { server in
                var setup = PipelineSetup(kind)
                setup.ownServer = server
                try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                    let workers = try pipeline.startAll()
                    try await pipeline.publish(upTo: 0.2)
                    try await pipeline.waitUntilReady()
                    for (mode, share) in [(PrivatePostgres.StopMode.fast, 0.4), (.immediate, 0.7)] {
                        try await Self.stopUnderLoad(server, mode, pipeline, workers, share)
                    }
                    try await pipeline.publish(upTo: 1)
                    try await pipeline.expectNothingLost(try await pipeline.settle())
                    Self.expectGroupsKept(workers)
                }
            }
        }

        private static func stopUnderLoad(
            _ server: PrivatePostgres, _ mode: PrivatePostgres.StopMode, _ pipeline: RunningPipeline,
            _ workers: [StageDescription: WorkerCopy], _ share: Double
        ) async throws {
            try await pipeline.publish(upTo: share - 0.1)
            try await pipeline.changeLinks(seed: 11, rounds: 3)
            try await server.stop(mode)
            try await pipeline.publish(upTo: share)
            try await pipeline.publishAgain(pipeline.traffic.items.prefix(60))
            for stage in withDatabase {
                await eventually("\(stage) has to be unready, \(mode)") { workers[stage]?.isUnready ?? false }
            }
            #expect(workers[.verify]?.isReady == true, "verify needs no database")
            for worker in workers.values { #expect(worker.get("/livez")?.isOK == true, "\(worker.name) lives on") }
            try await server.start()
            try await pipeline.changeLinks(seed: 12, rounds: 3)
            try await pipeline.waitUntilReady()
        }

        @Test(arguments: OwnBroker.kinds)
        func `while the broker is away the workers wait, and neither lose nor refuse a record`(kind: KafkaCluster.Kind)
            async throws
        {
            try await OwnBroker.lend(kind) { broker in
                var setup = PipelineSetup(kind)
                setup.ownCluster = broker.cluster
                // A broker may take a minute to start on a busy machine; the groups are to be kept.
                setup.sessionTimeout = .seconds(300)
                try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                    let workers = try pipeline.startAll()
                    try await pipeline.publish(upTo: 0.2)
                    try await pipeline.waitUntilReady()
                    for (mode, share) in [(OwnBroker.StopMode.orderly, 0.5), (.killed, 0.8)] {
                        try await pipeline.publish(upTo: share)
                        try await broker.stop(mode)
                        try await pipeline.changeLinks(seed: 13, rounds: 3)
                        for worker in workers.values {
                            await eventually("\(worker.name) is unready") { worker.isUnready }
                            #expect(worker.get("/livez")?.isOK == true, "\(worker.name) lives on")
                        }
                        try await broker.startAgain()
                        try await pipeline.waitUntilReady()
                        try await pipeline.publishAgain(pipeline.traffic.items.prefix(60))
                    }
                    try await pipeline.publish(upTo: 1)
                    try await pipeline.expectNothingLost(try await pipeline.settle())
                    Self.expectGroupsKept(workers)
                }
            }
        }

        @Test(.needsKafkaLauncher) func `a stop while the broker is silent ends the workers within their time`()
            async throws
        {
            try await OwnBroker.lend(.real) { broker in
                var setup = PipelineSetup(.real)
                setup.ownCluster = broker.cluster
                setup.environment["SHUTDOWN_BUDGET"] = "2s"
                try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                    let workers = try pipeline.startAll()
                    try await pipeline.waitUntilReady()
                    try await pipeline.publish(upTo: 1)
                    let verify = try #require(workers[.verify])
                    await eventually { verify.metric("output_records_total") ?? 0 > 0 }
                    try await broker.stop(.silent)
                    for worker in workers.values { worker.process.terminate() }
                    for worker in workers.values {
                        await eventually("\(worker.name) ends") { !worker.process.isRunning }
                    }
                    _ = try await pipeline.endsOfAll()
                    try await broker.startAgain(after: .silent)
                    _ = try pipeline.startAll()
                    try await pipeline.expectNothingLost(try await pipeline.settle())
                }
            }
        }

        /// Expects that each worker got its partitions once and never lost them.
        private static func expectGroupsKept(_ workers: [StageDescription: WorkerCopy]) {
            for worker in workers.values {
                let log = worker.log
                #expect(log.events("partitions assigned").count == 1, "\(worker.name)")
                let lost = log.events("partitions lost, discarding batches in flight")
                #expect(lost.isEmpty, "\(worker.name)")
            }
        }
    }
}
