import Foundation
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// The executables with the mistakes of an operator.
    @Suite struct WrongSettingsTests {
        private struct Ended {
            let end: ProcessEnd
            let output: String
        }

        private static func run(_ stage: StageDescription, _ arguments: [String] = [], _ environment: [String: String])
            async throws -> Ended
        {
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            let process = try ChildProcess(
                executable: BuiltWorkers.path(of: stage), arguments: arguments,
                environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
                standardOutput: .file(path: file.path), standardError: .file(path: file.path))
            defer { process.kill() }
            let end = try await process.waitForEnd(deadline: .hopeless)
            return Ended(end: end, output: try String(contentsOf: file, encoding: .utf8))
        }

        @Test(arguments: Topology.stages) func `every wrong setting is named at once, before anything opens`(
            stage: StageDescription
        ) async throws {
            let wrong = [
                "KAFKA_SESSION_TIMEOUT": "never", "BATCH_RECORDS_MAX": "0", "HTTP_PORT": "99999", "LOG_LEVEL": "loud",
                "RDKAFKA_ENABLE_AUTO_COMMIT": "true", "RDKAFKA_NO_SUCH_PROPERTY": "1",
            ]
            let ended = try await Self.run(stage, [], wrong)
            #expect(ended.end == .exited(code: 78))
            let missing = ["kafka.bootstrap", stage == .verify ? "apps" : "database.url"]
            for name in missing { #expect(ended.output.contains(name), "\(name): \(ended.output)") }
            for name in wrong.keys { #expect(ended.output.contains(name), "\(name): \(ended.output)") }
        }

        @Test(arguments: Topology.stages) func `an unknown option is reported, with where to find help`(
            stage: StageDescription
        ) async throws {
            let ended = try await Self.run(stage, ["--verbose"], [:])
            #expect(ended.end == .exited(code: 64))
            #expect(ended.output.contains("--verbose"))
            #expect(ended.output.contains("--help"))
        }

        @Test(arguments: Topology.stages)
        func `a check of good settings shows them with secrets masked and opens nothing`(stage: StageDescription)
            async throws
        {
            let apps = #"[{"bundle_id": "com.example.pro", "environment": "Sandbox"}]"#
            let ended = try await Self.run(
                stage, ["--check"],
                [
                    "KAFKA_BOOTSTRAP": "nowhere.invalid:9092", "APPS": apps,
                    "DATABASE_URL": "postgresql://me:opensesame@nowhere.invalid/db",
                ])
            #expect(ended.end == .exited(code: 0), "\(ended.output)")
            #expect(ended.output.contains("kafka.bootstrap"))
            #expect(!ended.output.contains("opensesame"))
        }
    }
}
