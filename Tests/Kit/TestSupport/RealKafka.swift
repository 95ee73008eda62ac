package import Foundation
import Synchronization
package import Testing

/// A real Apache Kafka, one for the whole test run, where this machine can have one.
///
/// `KAFKA_BOOTSTRAP_FOR_TESTS` names one that runs already; else the launcher in the shared data
/// starts one, which ends with this process.
package enum RealKafka {
    /// Whether there is one to be had, asked without starting it.
    package static var isAvailable: Bool { given != nil || hasLauncher }

    /// Whether a test can start a cluster of its own, or run Kafka's tools.
    package static let hasLauncher = FileManager.default.isExecutableFile(atPath: launcher.path) && hasJava

    package static let launcher = SharedData.folder.appending(path: "kafka/kafka")

    private static var given: String? {
        let value = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_FOR_TESTS"]
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static let hasJava = ["/usr/bin/java", ProcessInfo.processInfo.environment["KAFKA_JAVA"]].contains { path in
        path.map(FileManager.default.isExecutableFile(atPath:)) ?? false
    }

    /// The bootstrap servers of the one cluster of this run, which is started at the first call.
    package static func bootstrapServers() async throws -> String { try await cluster.value }

    private static let cluster = Task<String, any Error> {
        if let given { return given }
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "kafka-for-tests-\(ProcessInfo.processInfo.processIdentifier)")
        return try await start(in: folder, [])
    }

    /// Starts a cluster of its own, for a test that stops or changes brokers.
    ///
    /// - Parameter options: of the launcher, such as `--set`, `key=value`.
    package static func start(in folder: URL, _ options: [String]) async throws -> String {
        let owner = String(ProcessInfo.processInfo.processIdentifier)
        let output = try await run(["start", "--dir", folder.path, "--owner", owner] + options)
        guard let bootstrap = output.split(separator: "\n").last.map(String.init) else {
            throw LaunchError(output: output)
        }
        return bootstrap
    }

    /// Runs the launcher to its end and returns what it printed.
    @discardableResult package static func run(_ arguments: [String]) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try FileHandle(forWritingTo: file)
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            let process = Process()
            process.executableURL = launcher
            process.arguments = arguments
            // A file, not a pipe: the brokers inherit it and would keep a pipe open.
            process.standardOutput = output
            process.standardError = output
            process.standardInput = FileHandle.nullDevice
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        guard status == 0 else { throw LaunchError(output: text) }
        return text
    }

    package struct LaunchError: Error { package let output: String }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where no real Kafka can be had, and says so.
    package static var needsRealKafka: Self {
        .enabled(
            if: RealKafka.isAvailable,
            "no real Kafka: \(RealKafka.launcher.path) with Java, or KAFKA_BOOTSTRAP_FOR_TESTS")
    }

    /// Skips a test that starts a real Kafka of its own where this machine cannot, and says so.
    package static var needsKafkaLauncher: Self {
        .enabled(if: RealKafka.hasLauncher, "no Kafka to start: \(RealKafka.launcher.path) with Java")
    }
}
