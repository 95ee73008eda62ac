package import Foundation
import Platform

/// A real Kafka of a test's own with TLS, users and access rules.
///
/// `admin` may do everything, `worker` nothing until it is allowed to. The plain listener of
/// `bootstrapServers` stays open for the test itself.
package struct SecureKafka: Sendable {
    package enum Mechanism: String, Sendable, CaseIterable { case plain, scram, mtls }

    package let folder: URL
    package let bootstrapServers: String

    /// Lends brokers to `body` and removes them afterwards, however that ends.
    package static func lend(_ body: (SecureKafka) async throws -> Void) async throws {
        let kafka = try await start()
        try await closing {
            await kafka.remove()
        } after: {
            try await body(kafka)
        }
    }

    private static func start() async throws -> SecureKafka {
        let folder = FileManager.default.temporaryDirectory.appending(path: "secure-kafka-\(UUID().uuidString)")
        let bootstrap = try await RealKafka.start(in: folder, ["--secure"])
        return SecureKafka(folder: folder, bootstrapServers: bootstrap)
    }

    /// Executes the `kafka-acls.sh` commands in a text, such as that of `pipeline grants`.
    package func execute(_ text: String) throws {
        let commands = text.split(separator: "\n").filter { $0.hasPrefix("kafka-acls.sh ") }
        let tool = "'\(RealKafka.launcher.path)' tool --dir '\(folder.path)' acls"
        let script = ["set -e", "kafka-acls.sh() { \(tool) \"$@\"; }"] + commands.map(String.init)
        let run = try ProgramRun(
            "/bin/bash", ["-c", script.joined(separator: "\n")],
            environment: ProcessInfo.processInfo.environment.merging(["KAFKA_BOOTSTRAP": bootstrapServers]) { $1 })
        guard run.isSuccess, !commands.isEmpty else { throw RealKafka.LaunchError(output: run.text) }
    }

    /// The properties with which a user signs in, under librdkafka's names.
    package func properties(_ user: String, _ mechanism: Mechanism) throws -> [String: String] {
        let file = folder.appending(path: "secure/\(user)-\(mechanism.rawValue).properties")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let pairs = lines.map { line in
            let parts = line.split(separator: "=", maxSplits: 1)
            return (String(parts[0]), String(parts[1]))
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// The same as settings of our programs, by environment name.
    package func environment(_ user: String, _ mechanism: Mechanism) throws -> [String: String] {
        Self.environment(try properties(user, mechanism))
    }

    /// The properties with which a user signs in by a certificate of its own, whose principal is
    /// `User:` and its name.
    package func properties(ofUser name: String) async throws -> [String: String] {
        let secure = folder.appending(path: "secure")
        let issued = try await TestCertificates(
            authority: secure.appending(path: "ca.pem").path, key: secure.appending(path: "ca.key").path, folder: secure
        ).issue(name)
        var properties = try properties("worker", .mtls)
        properties["ssl.certificate.location"] = issued.certificate
        properties["ssl.key.location"] = issued.key
        return properties
    }

    /// The same as settings of our programs, by environment name.
    package func environment(ofUser name: String) async throws -> [String: String] {
        Self.environment(try await properties(ofUser: name))
    }

    /// Properties of librdkafka as settings of our programs, by environment name.
    package static func environment(_ properties: [String: String]) -> [String: String] {
        let pairs = properties.map { name, value in
            let variable = name.uppercased().replacing(".", with: "_")
            return (name == "bootstrap.servers" ? "KAFKA_BOOTSTRAP" : "RDKAFKA_\(variable)", value)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// Gives a user another password (PLAIN alone) and restarts the brokers.
    package func changePassword(of user: String, from old: String, to new: String) async throws {
        try await RealKafka.run(["stop", "--dir", folder.path])
        let file = folder.appending(path: "broker-0/server.properties")
        let settings = try String(contentsOf: file, encoding: .utf8)
        try settings.replacing("user_\(user)=\"\(old)\"", with: "user_\(user)=\"\(new)\"").write(
            to: file, atomically: true, encoding: .utf8)
        _ = try await RealKafka.start(in: folder, [])
    }

    private func remove() async {
        _ = try? await RealKafka.run(["stop", "--dir", folder.path, "--kill"])
        try? FileManager.default.removeItem(at: folder)
    }
}
