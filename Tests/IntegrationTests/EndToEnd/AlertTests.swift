import AppStore
import Foundation
import TestSupport
import Testing
import Worker

extension PipelineTests {
    /// The alert rules of Prometheus, against what the workers really expose.
    @Suite(.timeLimit(.minutes(10)))
    struct AlertTests {
        private static let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent()
            .appendingPathComponent("../../../deploy/prometheus")
            .standardizedFileURL

        private static func rules() throws -> String {
            try String(contentsOf: folder.appendingPathComponent("alerts.yaml"), encoding: .utf8)
        }

        @Test
        func `each class of dead letters has a rule, and each reason a series with its class`()
            async throws
        {
            var classes: Set<DeadLetterClass> = []
            for rule in try Self.rules().components(separatedBy: "- alert: ").dropFirst() {
                guard let counted = rule.firstMatch(of: /\{class="([a-z]+)"\}/)?.output.1 else {
                    continue
                }
                classes.insert(try #require(DeadLetterClass(rawValue: String(counted))))
                #expect(rule.contains("class: \(counted) }"))
            }
            #expect(classes == Set(DeadLetterClass.allCases))
            let exposed = try await EndToEndRun.of(.mock).metrics.values.joined()
            for reason in RefusalReason.allCases {
                let labels =
                    #"reason="\#(reason.rawValue)",class="\#(reason.deadLetterClass.rawValue)""#
                #expect(
                    exposed.contains("entitlements_dead_letters_total{stage=\"link\",\(labels)}")
                )
            }
        }

        @Test(.enabled(if: Promtool.path != nil, "promtool is not installed"))
        func `promtool accepts the rules, and finds that they fire when they should`() throws {
            for arguments in [
                ["check", "rules"] + MonitoringFiles.ruleFiles,
                ["check", "config", "prometheus.yaml"],
                ["test", "rules", "alerts.test.yaml"],
            ] {
                let verdict = try Promtool.run(arguments, in: Self.folder)
                #expect(verdict.exitCode == 0, "\(verdict.output)")
            }
            let nothing = try Promtool.run(["check", "rules", "nothing.yaml"], in: Self.folder)
            #expect(nothing.exitCode != 0)
        }
    }
}
