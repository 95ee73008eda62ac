import Kafka
import Postgres
import Simulation
import Store
import TestSupport
import Testing

@testable import DeadLetters

/// A replay whose PostgreSQL goes away.
@Suite(.timeLimit(.minutes(10))) struct ReplayOutageTests {
    @Test(arguments: [PrivatePostgres.StopMode.fast, .immediate])
    func `a replay that loses PostgreSQL ends, and continues when the server is back`(mode: PrivatePostgres.StopMode)
        async throws
    { try await PrivatePostgres.lend { try await Self.run($0, mode) } }

    private static func run(_ server: PrivatePostgres, _ mode: PrivatePostgres.StopMode) async throws {
        var options = server.options("tests")
        options.connectDeadline = .seconds(60)
        options.statementDeadline = .seconds(60)
        let connection = try await PostgresConnection.connect(options)
        _ = try await Migrator(PostgresServer.migrations.migrations()).run(on: connection)
        await connection.close()
        let rig = try await ReplayRig(ownDatabase: options)
        let bodies = rig.bodies(60)
        try await rig.refuse(bodies)
        let number = try await rig.begin()

        // No stage reads: it sends the first few and waits for outcomes, with nothing to write.
        let run = Task { try await rig.replays.run(number, who: rig.auditor) }
        try await eventually("the first few have to be sent") {
            try await rig.replays.replay(number)?.counts.sent == 20
        }
        try await server.stop(mode)
        let ended = ContinuousClock.now
        await #expect(throws: (any Error).self) { try await run.value }
        #expect(ContinuousClock.now - ended < .hopeless, "it has to notice")

        try await server.start()
        let row = try #require(try await rig.replays.replay(number))
        #expect(row.effectiveState == .interrupted)
        try await ReplayStage.running(rig, fromStart: true) { stage in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted && last.counts.accepted == 60, "\(last)")
            #expect(stage.read.count == 2 * bodies.count)
            #expect(Set(stage.read.map(\.value)) == Set(bodies.map(\.value)))
        }
        await rig.close()
    }
}
