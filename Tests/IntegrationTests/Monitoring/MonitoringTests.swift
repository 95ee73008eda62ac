import Operations
import Postgres
import Foundation
import JSON
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// The monitoring of running workers: metrics, rules, dashboard, runbook.
    @Suite(.timeLimit(.minutes(40)), .enabled(if: Prometheus.isInstalled, "prometheus is not installed"))
    struct MonitoringTests {
        @Test func `rules, panels and the runbook's commands work on workers that run`() async throws {
            try await MonitoringRig.run { rig in
                try Self.checkExposition(rig)
                try Self.checkRules(rig)
                try Self.checkPanels(rig)
                try await RunbookCommands(rig).check()
                // The report on an alert must be true even if it does not fire.
                let nothing = AlertFault(
                    name: "nothing", alerts: ["EntitlementsOwnersRefused"], make: { _ in }, mend: { _ in })
                let none = await nothing.outcomes(on: rig, within: .seconds(3)).map(\.description)
                #expect(none == ["EntitlementsOwnersRefused: did NOT fire (nothing)"])
                for outcome in await AlertFault.databaseAway.outcomes(on: rig) {
                    #expect(outcome.isSound, "\(outcome)")
                }
            }
        }

        /// Minutes of faults: `deploy/alerts.sh` runs them, and names a file for the report.
        @Test(.enabled(if: ProcessInfo.processInfo.environment["ALERTS_END_TO_END"] != nil, "run deploy/alerts.sh"))
        func `each alert fires when its fault is made, and clears after`() async throws {
            let environment = ProcessInfo.processInfo.environment
            let path = try #require(environment["ALERTS_END_TO_END"])
            let asked = environment["ALERTS_FAULT"] ?? ""
            let faults = AlertFault.all.filter { asked.isEmpty || $0.name.contains(asked) }
            let alerts = try MonitoringFiles.alerts().filter { alert in
                asked.isEmpty || faults.contains { $0.alerts.contains(alert) }
            }
            let start = ContinuousClock.now
            var outcomes: [AlertOutcome] = []
            try await MonitoringRig.run { rig in
                for fault in faults {
                    let found = await fault.outcomes(on: rig)
                    outcomes += found
                    // The results so far, in case this does not come to its end.
                    try outcomes.map { "\($0)\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
                }
            }
            let report = AlertReport(outcomes: outcomes, alerts: alerts)
            let lines = report.lines(after: .now - start)
            try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            #expect(report.isSound, "\(lines.filter { $0.contains("NOT") })")
        }

        @Test func `each command in a sentence of the runbook is in a block`() throws {
            let named = try MonitoringFiles.namedCommands()
            #expect(named.count > 8)
            let lines = try MonitoringFiles.commands().map(\.line)
            for command in named { #expect(lines.contains { $0.hasPrefix(command) }, "\(command)") }
        }

        @Test func `each alert has a section in the runbook, and no section is left over`() throws {
            let alerts = try MonitoringFiles.alerts()
            #expect(Set(alerts).count == alerts.count)
            let sections = try MonitoringFiles.sections().filter { $0.hasPrefix("Entitlements") }
            #expect(sections == Set(alerts))
        }

        @Test func `each alert leads to its section of the runbook`() throws {
            let anchors = try MonitoringFiles.anchors()
            for name in MonitoringFiles.ruleFiles {
                let rules = try MonitoringFiles.text("prometheus/\(name)")
                for rule in rules.components(separatedBy: "- alert: ").dropFirst() {
                    let alert = rule.prefix { $0.isLetter }
                    let anchor = alert.lowercased()
                    let address = "\(MonitoringFiles.runbookAddress)#\(anchor)"
                    #expect(rule.contains("runbook_url: \"\(address)\"\n"), "\(alert)")
                    #expect(anchors.contains(anchor), "\(alert)")
                }
            }
        }

        @Test func `the dashboard begins with health, and its links lead into the runbook`() throws {
            let root = try MonitoringFiles.dashboard()
            let panels = root["panels"]?.elements.map(\.self) ?? []
            #expect(panels.first?["title"]?.string == "Health")
            let next = panels.dropFirst().first { $0["type"]?.string == "row" }
            let top = try #require(next?["gridPos"]?["y"]?.int64)
            let queries = panels.filter { $0["gridPos"]?["y"]?.int64 ?? 0 < top }.flatMap {
                $0["targets"]?.elements.map(\.self) ?? []
            }.compactMap { $0["expr"]?.string }.joined(separator: "\n")
            for metric in ["worker_ready_state", "body_age_seconds", "dead_letter_open_records", "build_info"] {
                #expect(queries.contains("entitlements_\(metric)"), "\(metric)")
            }
            let links = ([root] + panels).flatMap { $0["links"]?.elements.map(\.self) ?? [] }.compactMap {
                $0["url"]?.string
            }
            #expect(links.contains(MonitoringFiles.runbookAddress))
            let anchors = try MonitoringFiles.anchors()
            for link in links {
                #expect(link.hasPrefix(MonitoringFiles.runbookAddress), "\(link)")
                let anchor = link.split(separator: "#").dropFirst().first.map(String.init)
                #expect(anchor.map(anchors.contains) ?? true, "\(link)")
            }
            #expect(links.count { $0.contains("#") } > 3)
        }

        @Test func `each query that a stage narrows is narrowed by the instance too`() throws {
            let text = try MonitoringFiles.text("grafana/dashboard.json")
            let queries = text.matches(of: /"expr": "(.+)"/).map { String($0.1) }
            for query in queries where query.contains("$stage") {
                #expect(query.matches(of: /\$stage/).count == query.matches(of: /\$instance/).count, "\(query)")
            }
        }

        /// The labels of each worker's own series; all others come from Prometheus, which renames a
        /// worker's label of the same name.
        private static let labels: Set<String> = [
            "stage", "disposition", "reason", "class", "step", "cause", "result", "le", "activity", "condition",
            "state", "sign", "source", "leaf", "status", "kind", "meaning", "work", "version", "commit", "endpoint",
            "environment", "bundle_id", "dependency",
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
            #expect(expressions.count > 50)
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
            let recorded = try MonitoringFiles.text("prometheus/objectives.yaml").matches(of: /- record: ([a-z0-9_:]+)/)
                .map { String($0.1) }
            for name in recorded { #expect(rig.prometheus.query(name)?.isEmpty == false, "\(name) has no value") }
        }

        private static func checkPanels(_ rig: MonitoringRig) throws {
            let queries = try MonitoringFiles.panelQueries()
            #expect(queries.count > 45)
            for query in queries {
                let series = rig.prometheus.query(query.expression)
                #expect(series?.isEmpty == false, "\(query.title): \(query.expression)")
            }
            for query in try MonitoringFiles.otherQueries() {
                #expect(rig.prometheus.query(query)?.isEmpty == false, "\(query)")
            }
        }
    }
}
