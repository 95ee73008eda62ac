import Operations
import Postgres
import Foundation
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// What SREs get for the night, against workers that run: metrics, rules, dashboard, runbook.
    @Suite(
        .timeLimit(.minutes(20)),
        .enabled(if: Prometheus.isInstalled, "prometheus is not installed")
    )
    struct MonitoringTests {
        @Test func `rules, panels and the runbook's commands work on workers that run`()
            async throws
        {
            try await MonitoringRig.run { rig in
                try Self.checkExposition(rig)
                try Self.checkRules(rig)
                try Self.checkPanels(rig)
                try await Self.checkCommands(rig)
                try await AlertFault.databaseAway.check(rig)
            }
        }

        /// Minutes of faults: `deploy/alerts.sh` asks for them.
        @Test(
            .enabled(
                if: ProcessInfo.processInfo.environment["ALERTS_END_TO_END"] != nil,
                "run deploy/alerts.sh"
            )
        )
        func `each alert fires when its fault is made, and clears after`() async throws {
            try await MonitoringRig.run { rig in
                for fault in AlertFault.all {
                    try await fault.check(rig)
                }
            }
        }

        @Test func `each alert has a section in the runbook, and no other is left over`() throws {
            let alerts = try MonitoringFiles.alerts()
            #expect(Set(alerts).count == alerts.count)
            let sections = try MonitoringFiles.sections().filter { $0.hasPrefix("Entitlements") }
            #expect(sections == Set(alerts))
        }

        /// The labels of each worker's own series; what else there is comes from Prometheus.
        private static let labels: Set<String> = [
            "stage", "disposition", "reason", "class", "step", "cause", "result", "le", "activity",
            "condition", "state", "sign", "source", "leaf", "status", "kind", "meaning", "work",
        ]

        private static func checkExposition(_ rig: MonitoringRig) throws {
            for copy in rig.pipeline.copies {
                let answer = try #require(copy.get("/metrics")?.text)
                let body = try #require(answer.range(of: "\r\n\r\n")).upperBound
                let verdict = try Promtool.check(Array(answer[body...].utf8))
                #expect(verdict.exitCode == 0, "\(copy.name): \(verdict.output)")
                let lines = answer[body...].split(whereSeparator: \.isNewline)
                #expect(lines.count { !$0.hasPrefix("#") } < 1_500, "\(copy.name)")
                for match in answer[body...].matches(of: /[{,]([a-z_]+)="/) {
                    #expect(labels.contains(String(match.1)), "\(copy.name): label \(match.1)")
                }
            }
            for copy in rig.pipeline.copies {
                let start = try #require(copy.metric("process_start_time_seconds"))
                let sum = copy.sum("entitlements_time_seconds_total{")
                let running = Date().timeIntervalSince1970 - start
                #expect(abs(running - sum) < 2, "\(copy.name): \(sum) of \(running) seconds")
            }
        }

        private static func checkRules(_ rig: MonitoringRig) throws {
            let expressions = try MonitoringFiles.expressions()
            #expect(expressions.count > 45)
            let added: Set<String> = ["instance", "job"]
            for expression in expressions {
                var found = added
                for selector in MonitoringFiles.selectors(expression) {
                    let series = rig.prometheus.series(selector)
                    #expect(!series.isEmpty, "no worker exposes \(selector): \(expression)")
                    series.forEach { found.formUnion($0.keys) }
                }
                let wanted = MonitoringFiles.groupings(expression)
                #expect(wanted.isSubset(of: found), "\(wanted.subtracting(found)): \(expression)")
                #expect(rig.prometheus.query(expression) != nil, "\(expression)")
            }
            let recorded = try MonitoringFiles.text("prometheus/objectives.yaml")
                .matches(of: /- record: ([a-z0-9_:]+)/).map { String($0.1) }
            for name in recorded {
                #expect(rig.prometheus.query(name)?.isEmpty == false, "\(name) has no value")
            }
        }

        private static func checkPanels(_ rig: MonitoringRig) throws {
            let queries = try MonitoringFiles.panelQueries()
            #expect(queries.count > 30)
            for query in queries {
                let series = rig.prometheus.query(query.expression)
                #expect(series?.isEmpty == false, "\(query.title): \(query.expression)")
            }
        }

        private static func checkCommands(_ rig: MonitoringRig) async throws {
            let settings = "\(rig.pipeline.folder)/settings.json"
            try FileManager.default.copyItem(
                atPath: settings,
                toPath: "\(rig.pipeline.folder)/workers.json"
            )
            try Data(rig.pipeline.traffic.catalog.utf8)
                .write(to: URL(fileURLWithPath: "\(rig.pipeline.folder)/products.json"))
            let index = try await rig.run("dead-letter index --until-end")
            #expect(index.exitCode == 0, "\(index.output)")
            let letters = try await rig.run("dead-letter list --json --limit 1")
            let variables = [
                "ID": letters.output.firstMatch(of: /"id": ?"([0-9a-f]+)"/).map { String($0.1) }
                    ?? "",
                "USER_ID": rig.pipeline.traffic.users.first?.userID ?? "",
                "TRANSACTION": try await transaction(rig),
            ]
            let commands = try MonitoringFiles.commands()
            #expect(commands.count > 60)
            var done: Set<String> = []
            for command in commands where done.insert(command.line).inserted {
                try await check(command, variables, rig)
            }
        }

        private static func transaction(_ rig: MonitoringRig) async throws -> String {
            try await rig.pipeline.withDatabase { connection in
                try await connection.query("SELECT transaction_id FROM transactions LIMIT 1")[0]
                    .text(0)
            }
        }

        /// A worker's own metric is asked of each worker, until one has it.
        private static func check(
            _ command: MonitoringFiles.Command,
            _ variables: [String: String],
            _ rig: MonitoringRig
        ) async throws {
            var last: (exitCode: Int32?, output: String) = (nil, "")
            for copy in rig.pipeline.copies {
                let port = copy.log.httpPort.map(String.init) ?? ""
                let worker = ["WORKER": "127.0.0.1:\(port)"]
                last = try await rig.run(command.line, variables.merging(worker) { $1 })
                if last.exitCode == 0 || !command.line.contains("$WORKER") { break }
            }
            // 1 is an answer: nothing was found, or the account does not add up.
            let good: [Int32?] = command.line.hasPrefix("curl") ? [0] : [0, 1]
            #expect(
                good.contains(last.exitCode),
                "\(command.section): \(command.line): \(last.output)"
            )
        }
    }
}
