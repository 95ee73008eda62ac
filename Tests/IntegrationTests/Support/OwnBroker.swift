import Foundation
import Kafka
import KitWrappers
import Platform
import TestSupport

/// A broker that a test stops and starts: no other test is on it.
struct OwnBroker: Sendable {
    enum StopMode: String, Sendable, CaseIterable {
        case orderly, killed
        /// Connections stay, and nothing is answered; the mock cannot do this.
        case silent
    }

    /// The clusters that a test can start for itself on this machine.
    static let kinds = KafkaCluster.Kind.allCases.filter { $0 == .mock || RealKafka.hasLauncher }

    let cluster: KafkaCluster
    private let folder: URL?

    /// Lends a broker to `body` and removes it afterwards, however that ends.
    static func lend(_ kind: KafkaCluster.Kind, _ body: (OwnBroker) async throws -> Void) async throws {
        let broker = try await start(kind)
        try await closing {
            await broker.remove()
        } after: {
            try await body(broker)
        }
    }

    static func start(_ kind: KafkaCluster.Kind) async throws -> OwnBroker {
        switch kind {
        case .mock: return OwnBroker(cluster: try await KafkaCluster(.mock), folder: nil)
        case .real:
            let folder = FileManager.default.temporaryDirectory.appending(path: "kafka-of-a-test-\(UUID().uuidString)")
            let bootstrap = try await RealKafka.start(in: folder, [])
            return OwnBroker(cluster: KafkaCluster(startedAt: bootstrap), folder: folder)
        }
    }

    /// Breaks every connection and prevents new ones.
    func stop(_ mode: StopMode) async throws {
        if let mock = cluster.mock {
            try mock.takeDown()
        } else if let folder {
            let command =
                switch mode {
                case .orderly: ["stop"]
                case .killed: ["stop", "--kill"]
                case .silent: ["pause"]
                }
            try await RealKafka.run(command + ["--dir", folder.path])
        }
    }

    /// Starts the broker again with all its records.
    func startAgain(after mode: StopMode = .orderly) async throws {
        if mode == .silent, let folder {
            try await RealKafka.run(["resume", "--dir", folder.path])
        } else if let mock = cluster.mock {
            try mock.bringUp()
        } else if let folder {
            _ = try await RealKafka.start(in: folder, [])
        }
    }

    func remove() async {
        cluster.mock?.stop()
        if let folder {
            _ = try? await RealKafka.run(["stop", "--dir", folder.path, "--kill"])
            try? FileManager.default.removeItem(at: folder)
        }
    }
}
