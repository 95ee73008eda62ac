import AppStore
import Foundation
import TestSupport
import Testing
import Worker

extension PipelineTests {
    /// The rules by which Prometheus tells somebody, against what the workers really expose.
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

        @Test func `the rules of dead letters name each reason of their class, and all classes`()
            throws
        {
            var classes: Set<DeadLetterClass> = []
            for rule in try Self.rules().components(separatedBy: "- alert: ").dropFirst() {
                guard let name = rule.firstMatch(of: /class: ([a-z]+)/)?.output.1,
                    let reasons = rule.firstMatch(of: /reason=~"([a-z0-9_|]+)"/)?.output.1
                else { continue }
                let kind = try #require(DeadLetterClass(rawValue: String(name)))
                classes.insert(kind)
                let named = reasons.split(separator: "|").map(String.init)
                let meant = RefusalReason.allCases.filter { $0.deadLetterClass == kind }
                #expect(Set(named) == Set(meant.map(\.rawValue)))
            }
            #expect(classes == Set(DeadLetterClass.allCases))
        }

        @Test(.enabled(if: promtool != nil, "promtool is not installed"))
        func `promtool accepts the rules, and finds that they fire when they should`() throws {
            for arguments in [
                ["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"],
            ] {
                let verdict = try Self.judge(arguments)
                #expect(verdict.exitCode == 0, "\(verdict.output)")
            }
            #expect(try Self.judge(["check", "rules", "nothing.yaml"]).exitCode != 0)
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

        private static func judge(
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
