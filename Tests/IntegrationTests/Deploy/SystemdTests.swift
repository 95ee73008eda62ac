import Foundation
import Operations
import Postgres
import Simulation
import TestSupport
import Testing

extension PipelineTests {
    /// The units of `deploy/systemd`, run by systemd itself.
    @Suite(.timeLimit(.minutes(10))) struct SystemdTests {
        private struct Service {
            let unit: String
            let command: String
            let user: String
            let port: UInt16?

            init(_ unit: String, _ command: String, user: String, port: UInt16? = nil) {
                self.unit = unit
                self.command = "/usr/lib/entitlements/bin/\(command)"
                self.user = "entitlements-\(user)"
                self.port = port
            }
        }

        private static let workers = [
            Service("entitlements-verify@1", "verify-worker", user: "verify", port: 9411),
            Service("entitlements-dedupe@1", "dedupe-worker", user: "dedupe", port: 9421),
            Service("entitlements-link@1", "link-worker", user: "link", port: 9431),
            Service("entitlements-entitle@1", "entitle-worker", user: "entitle", port: 9441),
        ]
        private static let auditing = [
            Service("entitlements-index", "dead-letter index", user: "index"),
            Service("entitlements-console", "dead-letter serve", user: "console", port: 9440),
        ]

        @Test(.enabled(if: SystemdMachine.isAvailable, "needs root and systemd-nspawn"))
        func `systemd runs the whole pipeline, each process as its own user in its sandbox`() async throws {
            let traffic = try DemoTraffic(seed: 3, bodyCount: 200)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let machine = try SystemdMachine(pipeline)
                do {
                    try await Self.waitUntilReady(machine)
                    Self.check(machine)
                    try await pipeline.publish(upTo: 1)
                    #expect(try await pipeline.settle().isBalanced)
                    let letters = traffic.items.count { $0.expectedRefusal != nil }
                    try await eventually("the index has not followed") {
                        try machine.requireRunning()
                        return try await pipeline.withDatabase { connection in
                            try await connection.query("SELECT count(*) FROM dead_letters")[0].int8(0)
                        } == letters
                    }
                    for (task, words) in Self.tasks {
                        try await eventually("\(task) has not said: \(words)") {
                            try machine.requireRunning()
                            return machine.log.contains(words)
                        }
                    }
                } catch {
                    Issue.record("the last words of the machine:\n\(machine.lastWords)")
                    try await machine.shutDown()
                    throw error
                }
                try await machine.shutDown()
                let stops = machine.log.components(separatedBy: #""worker stopped""#).count - 1
                // The index is a worker too.
                #expect(stops == Self.workers.count + 1, "\(machine.lastWords)")
            }
        }

        /// A copy's own settings make it leave its group before it is taken away.
        @Test func `a worker's unit reads the settings of its stage, then those of its copy`() throws {
            for worker in Self.workers {
                let name = worker.unit.prefix { $0 != "@" }
                let unit = try MonitoringFiles.text("systemd/\(name)@.service")
                let files = unit.matches(of: /\nEnvironmentFile=-(.+)/).map { String($0.1) }
                #expect(files == ["/etc/entitlements/%p.env", "/etc/entitlements/%N.env"])
            }
        }

        @Test func `each task has a timer, and writes where its success is collected`() throws {
            for task in Self.tasks.keys {
                let unit = try MonitoringFiles.text("systemd/entitlements-\(task).service")
                let file = "/var/lib/entitlements/metrics/\(task).prom"
                #expect(unit.contains(" --metrics \(file)\n"), "\(task)")
                #expect(unit.contains("\nReadWritePaths=/var/lib/entitlements/metrics\n"))
                let timer = try MonitoringFiles.text("systemd/entitlements-\(task).timer")
                #expect(timer.contains("\nPersistent=yes\n"), "\(task)")
            }
        }

        private static func waitUntilReady(_ machine: SystemdMachine) async throws {
            for port in workers.compactMap(\.port) {
                try await eventually(every: .milliseconds(100), "port \(port) is not ready") {
                    try machine.requireRunning()
                    return machine.get("/readyz", port: port)?.hasPrefix("HTTP/1.1 200 ") == true
                }
            }
            try await eventually(every: .milliseconds(100), "the console does not answer") {
                try machine.requireRunning()
                return machine.get("/", port: 9440)?.hasPrefix("HTTP/1.1 ") == true
            }
            try await eventually(every: .milliseconds(100), "the migration has not run") {
                try machine.requireRunning()
                return machine.log.split(separator: "\n").contains { line in
                    line.contains("Finished") && line.contains("migration of the database")
                }
            }
        }

        /// The last words of the units that timers start.
        private static let tasks = [
            "reconcile": "Every settled record is accounted for, and none is waiting.",
            "chains": "nothing is missing, altered or inserted.", "prune": "0 rows removed",
        ]

        private static func check(_ machine: SystemdMachine) {
            #expect(machine.findings.isEmpty)
            let services = workers + auditing
            let tasks = tasks.keys.map { "entitlements-\($0)" }
            for name in services.map(\.unit) + ["entitlements-migrate"] + tasks {
                // The scale ends at 10; a process without any restriction has 9.2.
                let exposure = machine.exposures["\(name).service"] ?? .infinity
                #expect(exposure <= 2.0, "\(name)")
            }
            for service in services {
                let found = machine.confinement(of: service.command)
                #expect(found?.user == service.user, "\(service.command)")
                #expect(found?.status["NoNewPrivs"] == "1", "\(service.command)")
                #expect(found?.status["CapEff"] == "0000000000000000", "\(service.command)")
                // A filter of system calls.
                #expect(found?.status["Seccomp"] == "2", "\(service.command)")
            }
        }
    }
}
