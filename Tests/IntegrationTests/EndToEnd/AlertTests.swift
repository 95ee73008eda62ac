import AppStore
import Foundation
import TestSupport
import Testing
import Worker

extension PipelineTests {
    /// The alert rules of Prometheus, against the workers' real metrics.
    @Suite(.timeLimit(.minutes(10))) struct AlertTests {
        private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../deploy/prometheus"
        ).standardizedFileURL

        private static func rules() throws -> String {
            try String(contentsOf: folder.appendingPathComponent("alerts.yaml"), encoding: .utf8)
        }

        @Test func `each class of dead letters has a rule, and each reason a series with its class`() async throws {
            var classes: Set<DeadLetterClass> = []
            for rule in try Self.rules().components(separatedBy: "- alert: ").dropFirst() {
                guard let counted = rule.firstMatch(of: /\{class="([a-z]+)"\}/)?.output.1 else { continue }
                classes.insert(try #require(DeadLetterClass(rawValue: String(counted))))
                #expect(rule.contains("class: \(counted) }"))
            }
            #expect(classes == Set(DeadLetterClass.allCases))
            let exposed = try await EndToEndRun.of(.mock).metrics.values.joined()
            for reason in RefusalReason.allCases {
                let labels = #"reason="\#(reason.rawValue)",class="\#(reason.deadLetterClass.rawValue)""#
                #expect(exposed.contains("entitlements_dead_letters_total{stage=\"link\",\(labels)}"))
            }
        }

        @Test(.enabled(if: Promtool.path != nil, "promtool is not installed"))
        func `promtool accepts the rules, and they fire when they should`() throws {
            for arguments in [
                ["check", "rules"] + MonitoringFiles.ruleFiles, ["check", "config", "prometheus.yaml"],
                ["test", "rules", "alerts.test.yaml", "near-misses.test.yaml", "ended.test.yaml"],
            ] {
                let verdict = try Promtool.run(arguments, in: Self.folder)
                #expect(verdict.exitCode == 0, "\(verdict.output)")
            }
            let nothing = try Promtool.run(["check", "rules", "nothing.yaml"], in: Self.folder)
            #expect(nothing.exitCode != 0)
        }

        @Test func `each alert has a unit test in which it fires, a near miss, and an ended fault`() throws {
            let alerts = Set(try MonitoringFiles.alerts())
            let fires = try MonitoringFiles.text("prometheus/alerts.test.yaml").matches(
                of: /alertname: (\w+)\n +exp_alerts:\n +- exp_labels/)
            #expect(Set(fires.map { String($0.1) }) == alerts)
            for name in [Self.nearMisses, Self.ended] {
                let silent = try MonitoringFiles.text("prometheus/\(name)").matches(
                    of: /alertname: (\w+), exp_alerts: \[\]/)
                #expect(Set(silent.map { String($0.1) }) == alerts, "\(name)")
            }
        }

        /// A person who is called follows the section with the worker that the alert names.
        @Test func `an alert whose section asks a worker names its instance`() throws {
            let asking = Set(try MonitoringFiles.commands().filter { $0.line.contains("$WORKER") }.map(\.section))
            let alerts = try MonitoringFiles.alerts().filter(asking.contains)
            #expect(alerts.count > 20)
            let tests = try MonitoringFiles.text("prometheus/alerts.test.yaml")
            for alert in alerts {
                let fired = tests.components(separatedBy: "alertname: \(alert)\n").dropFirst().compactMap {
                    $0.firstMatch(of: /exp_labels: \{([^}]*)\}/)?.1
                }
                #expect(!fired.isEmpty, "\(alert)")
                #expect(fired.allSatisfy { $0.contains(" instance: ") }, "\(alert)")
            }
        }

        private static let nearMisses = "near-misses.test.yaml"
        private static let ended = "ended.test.yaml"

        /// The alerts that fire in a file of tests although it wants them silent, by rules of which
        /// each was changed.
        private static func firing(_ tests: String, by change: (inout String) -> Void) throws -> Set<String> {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            for name in MonitoringFiles.ruleFiles + [tests] {
                var text = try MonitoringFiles.text("prometheus/\(name)")
                if name != tests { change(&text) }
                try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
            }
            let verdict = try Promtool.run(["test", "rules", tests], in: folder)
            #expect(verdict.exitCode == 1)
            return Set(verdict.output.matches(of: /alertname: (\w+)/).map { String($0.1) })
        }

        @Test(.enabled(if: Promtool.path != nil, "promtool is not installed"))
        func `each ended fault was one: it fires by a rule without patience that never ends`() throws {
            let fired = try Self.firing(Self.ended) { text in
                text.replace(/\n +for: \w+\n/, with: "\n")
                text.replace(/\n +labels: \{ severity/) { "\n        keep_firing_for: 9d\($0.0)" }
            }
            #expect(fired == Set(try MonitoringFiles.alerts()))
        }

        /// Replacements that make a rule fire a little earlier.
        private static let earlier = [
            "for: 2m": "for: 1m", "for: 5m": "for: 4m", "for: 10m": "for: 9m", "for: 15m": "for: 14m",
            "for: 30m": "for: 1m", "for: 1h": "for: 59m", "> 5000\n": "> 4400\n", "> 100\n": "> 89\n",
            "> 0.01\n": "> 0.0089\n", "> 0.05\n": "> 0.045\n", " > 1\n": " > 0.9\n", "> 10\n": "> 8\n",
            "> 0.9\n": "> 0.85\n", "14.4 * 0.001": "13.9 * 0.001", "> 6 * 0.001": "> 5.7 * 0.001",
            "> 0.001": "> 0.0008",
        ]

        @Test(.enabled(if: Promtool.path != nil, "promtool is not installed"))
        func `each near miss fires by a rule that is a little stricter`() throws {
            let fired = try Self.firing(Self.nearMisses) { text in
                text.replace(/> (30|60|300|900|100000|3600|7200|129600|0)\b(?!\.)/) { ">= \($0.1)" }
                // A longer text before those that it contains.
                for (rule, earlier) in Self.earlier.sorted(by: { $0.key.count > $1.key.count }) {
                    text = text.replacingOccurrences(of: rule, with: earlier)
                }
            }
            #expect(fired == Set(try MonitoringFiles.alerts()))
        }
    }
}
