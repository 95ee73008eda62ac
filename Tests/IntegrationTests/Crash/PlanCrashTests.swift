import Foundation
import Postgres
import Simulation
import TestSupport
import Testing

/// `pipeline plan` and `pipeline catalog apply`, killed in the middle of what they write.
@Suite(.needsBuiltWorkers, .timeLimit(.minutes(10))) struct PlanCrashTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private let url: String
    private let connection: PostgresConnection
    private let catalog: String

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        url = options.connectionString
        connection = try await PostgresConnection.connect(options)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "catalog.json")
        try Data(#"{"products":{"pro":{"type":"auto-renewable","entitlements":["pro"]}}}"#.utf8).write(to: file)
        catalog = file.path
    }

    private func run(_ arguments: String...) async throws -> BuiltTool.Outcome {
        try await BuiltTool.run("pipeline", arguments, ["DATABASE_URL": url])
    }

    /// Kills a command whose statement waits at the gate, which then takes effect or not.
    private func kill(_ arguments: [String], at gate: StatementGate, undoing: Bool) async throws {
        let process = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/pipeline", arguments: arguments,
            environment: ["DATABASE_URL": url, "SWIFT_BACKTRACE": "enable=no"])
        try await eventually("the statement waits") { try await gate.isReached() }
        process.kill()
        try await process.waitForEnd(deadline: .hopeless)
        try await gate.release(killed: "pipeline", undoing: undoing)
    }

    private func count(_ table: String) async throws -> Int64 {
        try await connection.query("SELECT count(*) FROM \(table)")[0].int8(0)
    }

    @Test(arguments: [true, false]) func `a killed plan is stored whole or not at all`(undoing: Bool) async throws {
        let gate = try await StatementGate("INSERT ON plans", connection)
        try await kill(["plan", "--catalog", catalog], at: gate, undoing: undoing)
        #expect(try await count("plans") == (undoing ? 0 : 1))
        let planned = try await run("plan", "--catalog", catalog)
        #expect(planned.exitCode == 0, "\(planned)")
        let plan = try await connection.query("SELECT max(plan) FROM plans")[0].int8(0)
        let applied = try await run("catalog", "apply", "--plan", "\(plan)")
        #expect(applied.exitCode == 0 && applied.output.contains("applied as version 1"), "\(applied)")
    }

    @Test(arguments: ["INSERT ON catalog_versions", "UPDATE ON catalog_versions"])
    func `a killed apply leaves the old catalog, and its plan goes on`(occasion: String) async throws {
        _ = try await run("plan", "--catalog", catalog)
        let gate = try await StatementGate(occasion, connection)
        try await kill(["catalog", "apply", "--plan", "1"], at: gate, undoing: false)
        #expect(try await count("catalog_versions") == 0)
        #expect(try await run("plan", "show", "1").output.contains("not applied"))
        for _ in 0..<2 { #expect(try await run("catalog", "apply", "--plan", "1").exitCode == 0) }
        #expect(try await count("catalog_versions") == 1)
        let shown = try await run("plan", "show", "1")
        #expect(shown.output.contains("applied as version"), "\(shown)")
    }
}
