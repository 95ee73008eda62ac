import Foundation
import Operations
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// The programs of the former version, as deploy/rehearsal.sh builds them from the commit whose
    /// schema is one migration behind, and those of today, by turns under load.
    @Suite(
        .timeLimit(.minutes(15)),
        .enabled(if: ProcessInfo.processInfo.environment["PREVIOUS_PROGRAMS"] != nil, "run by deploy/rehearsal.sh"),
        .needsRealKafka) struct RollingUpgradeTests
    {
        @Test func `workers go one version up, back and up again under load, and nothing is lost`() async throws {
            let previous = try #require(ProcessInfo.processInfo.environment["PREVIOUS_PROGRAMS"])
            let newest = try PostgresServer.migrations.migrations().count
            let traffic = try DemoTraffic(seed: 37, bodyCount: 900)
            var setup = PipelineSetup(.real)
            setup.schemaVersion = newest - 1
            setup.environment["BATCH_RECORDS_MAX"] = "50"
            try await RunningPipeline.run(setup, traffic) { pipeline in
                for stage in Topology.stages {
                    try pipeline.start(stage, programs: previous)
                    try pipeline.start(stage, programs: previous)
                }
                try await pipeline.waitUntilShared(copies: 2)
                let isOver = Flag()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await pipeline.publishSteadily(until: { isOver.isRaised }) }
                    group.addTask { try await pipeline.changeLinks(seed: 37, until: { isOver.isRaised }) }
                    try await Self.getOn(pipeline, "the version before, on its own schema")
                    try await Self.migrate(pipeline, to: newest)
                    try await Self.getOn(pipeline, "the version before, on the newer schema")
                    // Readers first: records that they do not know yet would wait for them.
                    try await Self.roll(pipeline, Topology.stages.reversed(), BuiltWorkers.folder)
                    try await Self.getOn(pipeline, "the newer version")
                    try await Self.roll(pipeline, Topology.stages, previous)
                    try await Self.getOn(pipeline, "the version before, again")
                    try await Self.roll(pipeline, Topology.stages.reversed(), BuiltWorkers.folder)
                    try await Self.getOn(pipeline, "the newer version, again")
                    isOver.raise()
                    try await group.waitForAll()
                }
                try await pipeline.expectNothingLost(try await pipeline.settle())
                for command in [["reconcile"], ["plan", "--facts"]] {
                    let outcome = await pipeline.operate(command)
                    #expect(outcome.code == 0, "\(command): \(outcome.output)\(outcome.notes)")
                }
                print("\(pipeline.published.count) bodies were published during the upgrade")
                #expect(try await pipeline.endsOfAll().isEmpty)
            }
        }

        /// Migrates under load, as an operator does.
        private static func migrate(_ pipeline: RunningPipeline, to version: Int) async throws {
            let began = ContinuousClock.now
            let outcome = await pipeline.operate("migrate")
            #expect(outcome.code == 0, "\(outcome.output)\(outcome.notes)")
            #expect(outcome.output.contains("the schema has version \(version)"))
            print("migrated under load in \(ContinuousClock.now - began)")
        }

        /// Replaces copy by copy, each by one that reads before it is stopped.
        private static func roll(_ pipeline: RunningPipeline, _ stages: [StageDescription], _ programs: String)
            async throws
        {
            let began = ContinuousClock.now
            for stage in stages {
                for former in pipeline.copies where former.stage == stage {
                    try pipeline.start(stage, programs: programs)
                    try await pipeline.waitUntilShared(copies: 3, of: [stage])
                    try await pipeline.stop(former)
                    try await pipeline.waitUntilShared(copies: 2, of: [stage])
                }
            }
            print("8 copies replaced in \(ContinuousClock.now - began)")
        }

        /// Waits until each stage has settled some hundred records more.
        private static func getOn(_ pipeline: RunningPipeline, _ who: String) async throws {
            let before = try await pipeline.workerAccounts().map(\.settled)
            let getsOn = try await becomesTrue(within: .seconds(90), every: .milliseconds(250)) {
                try await zip(pipeline.workerAccounts(), before).allSatisfy { $0.settled >= $1 + 200 }
            }
            guard getsOn else { throw PipelineFailure("\(who): no stage may stand still") }
            for copy in pipeline.copies where !copy.isReady { Issue.record("\(who): \(copy.name) is not ready") }
            print("\(who): each stage settles records")
        }
    }
}
