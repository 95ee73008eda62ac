import Foundation
import Operations
import Postgres
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// Runs every command of the runbook, as an operator would whose pipeline has the faults in
/// question: by the roles of the database that the page names.
struct RunbookCommands {
    private let rig: MonitoringRig

    init(_ rig: MonitoringRig) { self.rig = rig }

    func check() async throws {
        try writeFiles()
        // The refused bundle ID is accepted from here on.
        try acceptRefusedApp()
        let index = try await rig.run("dead-letter index --until-end")
        #expect(index.exitCode == 0, "\(index.output)")
        try await interruptReplays()
        var variables = try await variables()
        try await grantRoles()
        let commands = try MonitoringFiles.commands()
        #expect(commands.count > 80)
        var done: Set<String> = []
        for command in commands where done.insert(command.line).inserted {
            // One is continued to its end, the other is abandoned.
            variables["REPLAY"] = command.line.contains("--abandon") ? "2" : "1"
            if command.line.hasPrefix("pipeline topics") {
                try await checkTopics(command)
            } else {
                try await check(command, variables)
            }
        }
        try rig.writeSettings()
    }

    private func writeFiles() throws {
        let bodies = rig.acceptedItems.prefix(3).compactMap { $0.value.map { $0 + [0x0A] } }
        let files = ["products.json": Array(rig.pipeline.traffic.catalog.utf8), "bodies.jsonl": Array(bodies.joined())]
        for (name, bytes) in files {
            let path = "\(rig.pipeline.folder)/\(name)"
            try Data(bytes).write(to: URL(filePath: path))
        }
    }

    private static let refusedApp = "com.example.somebody-else"

    private func acceptRefusedApp() throws {
        try rig.writeSettings { $0.replacing("com.example.coins", with: Self.refusedApp) }
        try FileManager.default.copyItem(atPath: rig.settingsPath, toPath: "\(rig.pipeline.folder)/workers.json")
    }

    /// Begins two replays while no verifier runs.
    private func interruptReplays() async throws {
        let verify = try #require(rig.pipeline.copies.first { $0.stage == .verify })
        verify.process.signal(SIGSTOP)
        for reason in ["app_mismatch", "environment_mismatch"] {
            let answer = try await rig.run(
                "dead-letter replay --reason \(reason) --config workers.json --send "
                    + "--yes --wait-max 1s --why interrupted")
            // Interrupted, to be continued.
            #expect(answer.exitCode == 69, "\(answer.output)")
        }
        verify.process.signal(SIGCONT)
    }

    private func grantRoles() async throws {
        let granted = try await rig.run("pipeline grants --apply")
        #expect(granted.exitCode == 0, "\(granted.output)")
        for role in Set(Self.roles.compactMap(\.role)) {
            try await rig.pipeline.execute("ALTER ROLE \"\(role)\" PASSWORD '\(role)'")
        }
    }

    /// The role of each command by its beginning, the first that fits.
    ///
    /// `nil` for the schema's owner.
    private static let roles: [(command: String, role: String?)] = [
        ("pipeline migrate", nil), ("pipeline grants", nil), ("pipeline", "pipeline-operator"),
        ("psql", "pipeline-operator"), ("dead-letter index", "dead-letter-index"),
        ("dead-letter", "dead-letter-replay"),
    ]

    private func databaseURL(for line: String) -> String {
        let url = rig.pipeline.database.connectionString
        let found = Self.roles.first { line.hasPrefix($0.command) }
        guard let role = found?.role else { return url }
        return url.replacing(/\/\/[^@]*@/, with: "//\(role):\(role)@")
    }

    private func variables() async throws -> [String: String] {
        let letters = try await rig.run("dead-letter list --json --limit 1")
        let transaction = try await rig.pipeline.withDatabase { connection in
            try await connection.query("SELECT transaction_id FROM transactions LIMIT 1")[0].text(0)
        }
        return [
            "ID": letters.output.firstMatch(of: /"id": ?"([0-9a-f]+)"/).map { String($0.1) } ?? "",
            "USER_ID": rig.pipeline.traffic.users.first?.userID ?? "", "TRANSACTION": transaction,
            "BUNDLE": Self.refusedApp,
        ]
    }

    /// The mock cluster does not answer these requests: they run with a real one.
    private func checkTopics(_ command: MonitoringFiles.Command) async throws {
        guard RealKafka.isAvailable else { return }
        let kafka = try await RealKafka.bootstrapServers()
        try await check(command, ["KAFKA_BOOTSTRAP": kafka, "KAFKA_TOPIC_PREFIX": rig.pipeline.layout.prefix])
    }

    /// A worker's own metric is asked of each worker, until one has it.
    private func check(_ command: MonitoringFiles.Command, _ variables: [String: String]) async throws {
        var last: (exitCode: Int32?, output: String) = (nil, "")
        for copy in rig.pipeline.copies {
            let port = copy.log.httpPort.map(String.init) ?? ""
            let own = ["WORKER": "127.0.0.1:\(port)", "DATABASE_URL": databaseURL(for: command.line)]
            last = try await rig.run(command.line, variables.merging(own) { $1 })
            if last.exitCode == 0 || !command.line.contains("$WORKER") { break }
        }
        // 1 is an answer: nothing was found, or the account does not add up.
        let good: [Int32?] = command.line.hasPrefix("curl") ? [0] : [0, 1]
        let place = "\(command.section): \(command.line): \(last.output)"
        #expect(good.contains(last.exitCode), "\(place)")
        // PostgreSQL replaces the statement of a foreign session by these words.
        #expect(!last.output.contains(/insufficient privilege|permission denied/), "\(place)")
    }
}
