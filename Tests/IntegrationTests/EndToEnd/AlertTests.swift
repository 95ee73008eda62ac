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

        @Test func `every metric of a rule is exposed by a worker that runs`() async throws {
            let run = try await EndToEndRun.of(.mock)
            let exposed = run.metrics.values.flatMap { text in
                text.split(whereSeparator: \.isNewline)
                    .filter { $0.hasPrefix("entitlements_") }
                    .compactMap { $0.split(whereSeparator: { " {".contains($0) }).first }
            }
            let known = Set(exposed.map(String.init))
            let named = try Self.expressions()
                .flatMap { $0.matches(of: /entitlements_[a-z0-9_]+/).map { String($0.output) } }
            #expect(Set(named).count >= 18)
            for metric in Set(named) {
                #expect(known.contains(metric), "no worker exposes \(metric)")
            }
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

        @Test(.enabled(if: promtool != nil, "promtool is not installed"))
        func `promtool accepts the rules, and finds that they fire when they should`() throws {
            for arguments in [
                ["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"],
            ] {
                let verdict = try Self.runPromtool(arguments)
                #expect(verdict.exitCode == 0, "\(verdict.output)")
            }
            #expect(try Self.runPromtool(["check", "rules", "nothing.yaml"]).exitCode != 0)
        }

        /// What stands behind each `expr:`, up to the next member of the rule.
        private static func expressions() throws -> [String] {
            try rules().components(separatedBy: "expr:").dropFirst().map { text in
                let end = text.range(of: "labels:")?.lowerBound ?? text.endIndex
                return String(text[..<end])
            }
        }

        private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }

        private static func runPromtool(
            _ arguments: [String]
        ) throws -> (exitCode: Int32, output: String) {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: promtool ?? "/usr/bin/promtool")
            process.currentDirectoryURL = folder
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let said = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: said, as: UTF8.self))
        }
    }
}
